// What a process confines itself to lasts until it ends, so each such test runs in a child.
#pragma once

#include <functional>
#include <string>

namespace modeld::test {

// Runs `body` in a child process and gives what it answers; "crashed: signal N" or "exited: N"
// where it did not come back, "timed out" after 20 s.
std::string in_child(const std::function<std::string()>& body);

}  // namespace modeld::test
