#include "tools/replay/route_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>

namespace modeld::replay {
namespace {

namespace fs = std::filesystem;

// More entries than any real folder has; the rest would be somebody's mistake.
constexpr size_t kMaxEntries = 100'000;

// Best first.
constexpr std::array<std::string_view, 3> kLogStems = {"rlog", "raw_log", "qlog"};
constexpr std::array<std::string_view, 3> kLogEndings = {".zst", ".bz2", ""};
constexpr std::array<std::string_view, 5> kPictureEndings = {"", ".mkv", ".hevc", ".mp4", ".ts"};

// The part of a file's name that says what it is, the part before that, and how good it is.
struct KnownName {
  std::string prefix;
  std::optional<Camera> camera;  // nothing: a log
  bool preview = false;
  size_t rank = 0;  // lower is better
};

// `name` = prefix + stem + one of `endings`; the prefix is empty or ends in a separator.
template <size_t N>
std::optional<KnownName> match(std::string_view name, std::string_view stem,
                               const std::array<std::string_view, N>& endings, size_t rank) {
  for (size_t i = 0; i < N; ++i) {
    const std::string ending = std::string(stem) + std::string(endings[i]);
    if (!name.ends_with(ending)) continue;
    const std::string_view prefix = name.substr(0, name.size() - ending.size());
    if (!prefix.empty() && !prefix.ends_with("--") && !prefix.ends_with('_')) continue;
    KnownName known;
    known.prefix = prefix;
    known.rank = rank * 10 + i;
    return known;
  }
  return std::nullopt;
}

std::optional<KnownName> recognise(const fs::directory_entry& entry) {
  std::error_code failure;
  const bool folder = entry.is_directory(failure);
  const std::string name = entry.path().filename().string();
  for (size_t rank = 0; rank < kLogStems.size() && !folder; ++rank) {
    if (auto known = match(name, kLogStems[rank], kLogEndings, rank)) return known;
  }
  constexpr std::array<std::string_view, 1> kFolder = {""};
  const auto pictures = [&](std::string_view stem, Camera camera,
                            size_t rank) -> std::optional<KnownName> {
    auto known =
        folder ? match(name, stem, kFolder, rank) : match(name, stem, kPictureEndings, rank);
    if (!known || (!folder && known->rank == rank * 10)) return std::nullopt;
    known->camera = camera;
    return known;
  };
  for (const Camera camera : kCameras) {
    if (auto known = pictures(names_of(camera).file, camera, 0)) return known;
  }
  if (auto known = pictures("video", Camera::kNarrowRoad, 1)) return known;
  auto known = pictures(kPreviewFile, Camera::kNarrowRoad, 2);
  if (known) known->preview = true;
  return known;
}

// "ROUTE--12" -> 12.
std::optional<int32_t> segment_number(std::string_view name) {
  while (name.ends_with('-') || name.ends_with('_')) name.remove_suffix(1);
  const size_t dashes = name.rfind("--");
  if (dashes == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dashes + 2);
  int32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

struct Found {
  SegmentFiles files;
  size_t log_rank = SIZE_MAX;
  PerCamera<size_t> picture_rank{SIZE_MAX, SIZE_MAX, SIZE_MAX};
};

Result<std::vector<fs::directory_entry>> list(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    entries.push_back(*at);
    if (entries.size() > kMaxEntries) {
      return Error(ErrorCode::kExhausted, "folder with too many entries").in(folder.string());
    }
  }
  if (failure) return errno_error("listing " + folder.string(), failure.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string folder_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// The segments whose files lie directly in `folder`, by the prefix of their names.
Result<std::map<std::string, SegmentFiles>> segments_in(const fs::path& folder) {
  MODELD_ASSIGN(const auto entries, list(folder));
  std::map<std::string, Found> found;
  for (const fs::directory_entry& entry : entries) {
    const auto known = recognise(entry);
    if (!known) continue;
    Found& segment = found[known->prefix];
    if (!known->camera) {
      if (known->rank >= segment.log_rank) continue;
      segment.log_rank = known->rank;
      segment.files.log = entry.path();
      continue;
    }
    const size_t camera = index_of(*known->camera);
    if (known->rank >= segment.picture_rank[camera]) continue;
    segment.picture_rank[camera] = known->rank;
    segment.files.pictures[camera] = entry.path();
    if (*known->camera == Camera::kNarrowRoad) segment.files.preview = known->preview;
  }
  std::map<std::string, SegmentFiles> segments;
  for (auto& [prefix, segment] : found) {
    segment.files.name = prefix.empty() ? folder_name(folder) : prefix;
    segment.files.number = segment_number(segment.files.name);
    segments.emplace(prefix, std::move(segment.files));
  }
  return segments;
}

std::string route_of(std::string_view segment) {
  return std::string(segment.substr(0, segment.rfind("--")));
}

// Segment folders in `parent`: those of `route`, or of the only route there is.
Result<std::vector<SegmentFiles>> segment_folders(const fs::path& parent,
                                                  const std::optional<std::string>& route) {
  MODELD_ASSIGN(const auto entries, list(parent));
  std::vector<SegmentFiles> segments;
  std::optional<std::string> seen = route;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    std::error_code failure;
    if (!segment_number(name) || !entry.is_directory(failure)) continue;
    if (route && route_of(name) != *route) continue;
    MODELD_ASSIGN(const auto inside, segments_in(entry.path()));
    if (inside.empty()) continue;
    if (seen && route_of(name) != *seen) {
      return Error(ErrorCode::kInvalidArgument, "folder with segments of several routes")
          .expecting("one route (name it: FOLDER/ROUTE)", *seen + " and " + route_of(name))
          .in(parent.string());
    }
    seen = route_of(name);
    for (const auto& [prefix, segment] : inside) {
      segments.push_back(segment);
      // The folder's number counts, whatever its files are called.
      segments.back().number = segment_number(name);
    }
  }
  return segments;
}

// A log and, if it is called as logs are, what lies beside it under the same prefix.
Result<std::vector<SegmentFiles>> beside_log(const fs::path& log) {
  SegmentFiles one;
  const auto known = recognise(fs::directory_entry(log));
  if (known && !known->camera) {
    MODELD_ASSIGN(const auto all, segments_in(log.has_parent_path() ? log.parent_path() : "."));
    if (const auto same = all.find(known->prefix); same != all.end()) one = same->second;
  }
  if (one.name.empty()) one.name = log.filename().string();
  one.log = log;
  return std::vector<SegmentFiles>{one};
}

Result<std::vector<SegmentFiles>> find_segments(const fs::path& route) {
  std::error_code failure;
  if (fs::is_regular_file(route, failure)) return beside_log(route);
  if (fs::is_directory(route, failure)) {
    MODELD_ASSIGN(const auto inside, segments_in(route));
    if (inside.empty()) return segment_folders(route, std::nullopt);
    std::vector<SegmentFiles> segments;
    for (const auto& [prefix, segment] : inside) segments.push_back(segment);
    return segments;
  }
  const fs::path parent = route.has_parent_path() ? route.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, failure)) return std::vector<SegmentFiles>();
  return segment_folders(parent, route.filename().string());
}

}  // namespace

Result<RouteFiles> find_route(const fs::path& route, const FileChoice& choice) {
  RouteFiles files;
  MODELD_ASSIGN(files.segments, find_segments(route));
  const bool chosen =
      !choice.log.empty() || std::any_of(choice.pictures.begin(), choice.pictures.end(),
                                         [](const fs::path& path) { return !path.empty(); });
  std::error_code failure;
  if (files.segments.empty() && chosen && fs::is_directory(route, failure)) {
    SegmentFiles named;
    named.name = folder_name(route);
    named.number = segment_number(named.name);
    files.segments.push_back(std::move(named));
  }
  if (files.segments.empty()) {
    return Error(ErrorCode::kNotFound, "no route at " + route.string())
        .expecting(
            "a log, or a folder with rlog or qlog (.zst, .bz2 or plain), fcamera, ecamera or"
            " dcamera (.hevc, .mkv or a folder of pictures), or folders ROUTE--N of them",
            fs::exists(route, failure) ? "none of these" : "nothing there");
  }
  std::stable_sort(
      files.segments.begin(), files.segments.end(),
      [](const SegmentFiles& a, const SegmentFiles& b) { return a.number < b.number; });
  SegmentFiles& first = files.segments.front();
  if (!choice.log.empty()) first.log = choice.log;
  for (const Camera camera : kCameras) {
    const fs::path& path = choice.pictures[index_of(camera)];
    if (path.empty()) continue;
    first.pictures[index_of(camera)] = path;
    if (camera == Camera::kNarrowRoad) {
      first.preview = path.stem().string().ends_with(std::string(kPreviewFile));
    }
  }
  return files;
}

}  // namespace modeld::replay
