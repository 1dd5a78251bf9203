#include "tools/feed/program_files.h"

#include <array>
#include <system_error>

namespace modeld {
namespace {

Result<std::filesystem::path> first_existing(const std::string& what,
                                             const std::array<std::filesystem::path, 2>& places) {
  std::error_code failure;
  for (const std::filesystem::path& place : places) {
    if (std::filesystem::is_regular_file(place, failure)) return place;
  }
  return Error(ErrorCode::kNotFound, what + " is not where it should be")
      .expecting(places[0].string() + " or " + places[1].string(), "neither");
}

}  // namespace

Result<std::filesystem::path> program_folder() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return errno_error("finding the running program", failure.value());
  return program.parent_path();
}

std::optional<std::filesystem::path> find_above_program(const std::filesystem::path& relative) {
  auto folder = program_folder();
  if (!folder.ok()) return std::nullopt;
  std::error_code failure;
  for (std::filesystem::path at = *folder; at.has_relative_path(); at = at.parent_path()) {
    if (std::filesystem::exists(at / relative, failure)) return at / relative;
  }
  return std::nullopt;
}

Result<std::filesystem::path> find_daemon(const std::string& name) {
  MODELD_ASSIGN(const auto folder, program_folder());
  return first_existing(
      name, {folder / name, (folder / ".." / ".." / "daemon" / name).lexically_normal()});
}

Result<std::filesystem::path> find_pipeline(const std::string& name) {
  MODELD_ASSIGN(const auto folder, program_folder());
  const std::filesystem::path relative = std::filesystem::path("config") / "pipelines" / name;
  const auto in_tree = find_above_program(relative);
  return first_existing(
      "pipeline " + name,
      {in_tree.value_or(folder / relative),
       (folder / ".." / "share" / "modeld" / "pipelines" / name).lexically_normal()});
}

}  // namespace modeld
