#include "tests/support/npz.h"

#include <zip.h>

#include <memory>
#include <vector>

namespace modeld::test {
namespace {

constexpr uint64_t kMaxMember = uint64_t{1} << 30;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::vector<std::byte> member_bytes(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat) {
  if (stat.size > kMaxMember) throw std::runtime_error("archive member too large");
  const std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(archive, index, 0));
  std::vector<std::byte> bytes(stat.size);
  if (!file ||
      zip_fread(file.get(), bytes.data(), stat.size) != static_cast<zip_int64_t>(stat.size)) {
    throw std::runtime_error(std::string("cannot read archive member ") + stat.name);
  }
  return bytes;
}

}  // namespace

Npz::Npz(const std::filesystem::path& path) {
  const std::unique_ptr<zip_t, Discard> archive(zip_open(path.c_str(), ZIP_RDONLY, nullptr));
  if (!archive) throw std::runtime_error("cannot open " + path.string());
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), index, 0, &stat) != 0) {
      throw std::runtime_error("cannot list " + path.string());
    }
    auto parsed = parse_npy(member_bytes(archive.get(), index, stat));
    // Text arrays (names of columns) are of no use here; asking for one fails.
    if (!parsed.ok() && parsed.error().code == ErrorCode::kUnsupported) continue;
    if (!parsed.ok()) throw std::runtime_error(stat.name + (": " + to_string(parsed.error())));
    std::string name = stat.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays_.emplace(std::move(name), std::move(parsed).value());
  }
}

const NpyArray& Npz::array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) throw std::runtime_error("no array " + name);
  return found->second;
}

}  // namespace modeld::test
