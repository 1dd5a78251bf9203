#include "tests/vm/dma_buf_frames.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "ipc/frames/mapped_buffer.h"
#include "ipc/frames/read_bracket.h"
#include "runtime/base/unique_fd.h"

namespace modeld::test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kId = 4711;

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

std::byte pixel(size_t at) {
  return static_cast<std::byte>(at * 7 % 251);
}

// What a camera writes: pixels, then the frame's id.
void write_frame(std::span<std::byte> memory, const Nv12Layout& layout) {
  for (size_t i = 0; i < layout.length; ++i) memory[i] = pixel(i);
  std::memcpy(memory.data() + layout.length, &kId, sizeof kId);
}

ipc::BufferRecord record_of(const Nv12Layout& layout) {
  return {layout.length, layout.length + sizeof kId, layout, 1, 0, 0};
}

// Memory as one process's daemon would see it, against what was written.
std::string read_frame(UniqueFd fd, const Nv12Layout& layout) {
  const auto buffer = ipc::MappedBuffer::map(record_of(layout), std::move(fd));
  if (!buffer.ok()) return to_string(buffer.error());
  if (!dynamic_cast<const ipc::MappedBuffer&>(**buffer).is_dma_buf()) {
    return "the kernel does not take the buffer for a dma-buf";
  }
  ipc::ReadBracket reads;
  if (const Status begun = reads.begin(**buffer); !begun.ok()) return to_string(begun.error());
  if ((*buffer)->trailing_frame_id() != kId) return "another frame id than was written";
  const auto bytes = (*buffer)->bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pixel(i)) return "byte " + std::to_string(i) + " is not what was written";
  }
  return (*buffer)->intact() ? "" : "the buffer became shorter";
}

class Mapping {
 public:
  Mapping(int fd, uint64_t bytes, off_t offset = 0)
      : bytes_(bytes),
        start_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset)) {}
  ~Mapping() {
    if (ok()) munmap(start_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  bool ok() const { return start_ != MAP_FAILED; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(start_), bytes_}; }

 private:
  const uint64_t bytes_;
  void* const start_;
};

Nv12Layout layout() {
  return *Nv12Layout::openpilot(1344, 760);
}
uint64_t whole_pages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Written by way of the memfd, as a camera on the processor would.
std::string make_udmabuf_frame(UniqueFd& dma_buf) {
  const uint64_t bytes = whole_pages(layout().length + sizeof kId);
  const UniqueFd memory(memfd_create("frames", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0 || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return failed("memfd");
  }
  const Mapping camera(memory.get(), bytes);
  if (!camera.ok()) return failed("mmap of the memfd");
  write_frame(camera.bytes(), layout());
  const UniqueFd device(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  if (device.get() < 0) return failed("/dev/udmabuf");
  udmabuf_create request{};
  request.memfd = static_cast<uint32_t>(memory.get());
  request.flags = UDMABUF_FLAGS_CLOEXEC;
  request.size = bytes;
  dma_buf = UniqueFd(ioctl(device.get(), UDMABUF_CREATE, &request));
  return dma_buf.get() < 0 ? failed("UDMABUF_CREATE") : "";
}

UniqueFd open_card(const std::string& driver) {
  for (int i = 0; i < 16; ++i) {
    UniqueFd card(open(("/dev/dri/card" + std::to_string(i)).c_str(), O_RDWR | O_CLOEXEC));
    if (card.get() < 0) continue;
    const std::unique_ptr<drmVersion, decltype(&drmFreeVersion)> version(drmGetVersion(card.get()),
                                                                         drmFreeVersion);
    if (version && driver == version->name) return card;
  }
  return UniqueFd();
}

}  // namespace

std::string try_udmabuf_frame() {
  UniqueFd dma_buf;
  if (std::string wrong = make_udmabuf_frame(dma_buf); !wrong.empty()) return wrong;
  return read_frame(std::move(dma_buf), layout());
}

std::string try_prime_frame(const std::string& driver) {
  const UniqueFd card = open_card(driver);
  if (card.get() < 0) return "no DRM device with the driver " + driver;
  drm_mode_create_dumb dumb{};
  dumb.width = static_cast<uint32_t>(kPage);
  dumb.height = static_cast<uint32_t>(whole_pages(layout().length + sizeof kId) / kPage);
  dumb.bpp = 8;
  if (drmIoctl(card.get(), DRM_IOCTL_MODE_CREATE_DUMB, &dumb) != 0) return failed("dumb buffer");
  drm_mode_map_dumb map{};
  map.handle = dumb.handle;
  if (drmIoctl(card.get(), DRM_IOCTL_MODE_MAP_DUMB, &map) != 0) return failed("map of it");
  const Mapping camera(card.get(), dumb.size, static_cast<off_t>(map.offset));
  if (!camera.ok()) return failed("mmap of it");
  write_frame(camera.bytes(), layout());
  int exported = -1;
  if (drmPrimeHandleToFD(card.get(), dumb.handle, DRM_CLOEXEC | DRM_RDWR, &exported) != 0) {
    return failed("PRIME export");
  }
  return read_frame(UniqueFd(exported), layout());
}

std::string try_prime_import(const std::string& driver) {
  const UniqueFd card = open_card(driver);
  if (card.get() < 0) return "no DRM device with the driver " + driver;
  UniqueFd dma_buf;
  if (std::string wrong = make_udmabuf_frame(dma_buf); !wrong.empty()) return wrong;
  uint32_t handle = 0;
  if (drmPrimeFDToHandle(card.get(), dma_buf.get(), &handle) != 0) return failed("PRIME import");
  int exported = -1;
  if (drmPrimeHandleToFD(card.get(), handle, DRM_CLOEXEC, &exported) != 0) {
    return failed("export of the import");
  }
  return read_frame(UniqueFd(exported), layout());
}

}  // namespace modeld::test
