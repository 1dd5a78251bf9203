// Camera buffers as dma-bufs of the running kernel, seen through the daemons' own code.
#pragma once

#include <string>

namespace modeld::test {

// Each answers what is wrong in one line, or nothing.

// A frame in a dma-buf of /dev/udmabuf.
std::string try_udmabuf_frame();
// A frame in a dumb buffer of the DRM device with this driver ("vgem"), exported by PRIME.
std::string try_prime_frame(const std::string& driver);
// A frame in a dma-buf of /dev/udmabuf, imported by the DRM device with this driver ("cirrus") and
// exported again: the same memory.
std::string try_prime_import(const std::string& driver);

}  // namespace modeld::test
