// A float32 twin of a float16 network.
#pragma once

#include <filesystem>

namespace modeld::test {

// Writes `from` to `to` with every float16 tensor, input, output, constant and cast made float32;
// what is float32 already stays. Throws on a file it cannot read or write.
void write_widened(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace modeld::test
