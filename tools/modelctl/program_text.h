// A program as lines for people.
#pragma once

#include <string>
#include <vector>

#include "runtime/program/program.h"

namespace modeld::modelctl {

// One line per op, in order:
//   "12 y f32[1,8,4,4] = Conv(x f32[1,3,8,8], w, b) group=1 strides=[1,1] | 0.012 MMAC, reads .."
// Constants show no type but where they are the first input.
std::vector<std::string> program_lines(const Program& program);

// The intermediates' places in one arena in plain layout, by offset:
//   "0x00000400  16.4 kB  ops 3..7  y f32[1,8,4,4]"
// What is alive at the same time never shares a byte. A backend that keeps other layouts or writes
// in place has an arena of its own.
std::vector<std::string> arena_lines(const Program& program);

}  // namespace modeld::modelctl
