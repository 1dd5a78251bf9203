// Tries one thing a sandbox may forbid and answers by exit status: 0 it worked, 1 it was refused.
// Usage: probe can INTERFACE | open FILE | make FILE | frame udmabuf|vgem | import cirrus
#include <fcntl.h>
#include <linux/can.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/vm/dma_buf_frames.h"

namespace {

int refused(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  return 1;
}

// As far as sending one frame, so that the way to the bus is really there.
int try_can(const char* interface) {
  const int fd = socket(AF_CAN, SOCK_RAW, CAN_RAW);
  if (fd < 0) return refused("socket");
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  if (ioctl(fd, SIOCGIFINDEX, &request) != 0) return refused("interface");
  sockaddr_can address{};
  address.can_family = AF_CAN;
  address.can_ifindex = request.ifr_ifindex;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return refused("bind");
  can_frame frame{};
  frame.can_id = 0x123;
  return write(fd, &frame, sizeof frame) == sizeof frame ? 0 : refused("write");
}

int try_open(const char* file, int flags) {
  const int fd = open(file, flags | O_CLOEXEC | O_NONBLOCK, 0600);
  return fd >= 0 ? 0 : refused(file);
}

int tell(const std::string& wrong) {
  if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what == "can") return try_can(argv[2]);
  if (what == "open") return try_open(argv[2], O_RDWR);
  if (what == "make") return try_open(argv[2], O_CREAT | O_EXCL | O_WRONLY);
  if (what == "frame") {
    const std::string from = argv[2];
    return tell(from == "udmabuf" ? modeld::test::try_udmabuf_frame()
                                  : modeld::test::try_prime_frame(from));
  }
  if (what == "import") return tell(modeld::test::try_prime_import(argv[2]));
  std::fprintf(stderr,
               "usage: probe can INTERFACE | open FILE | make FILE | frame udmabuf|DRIVER | "
               "import DRIVER\n");
  return 2;
}
