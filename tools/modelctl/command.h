// How a subcommand joins modelctl: one add_*() per file, listed in commands.cpp.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace modeld::modelctl {

// What a subcommand does once the command line is understood. Its error becomes one line on stderr
// and the exit code (runtime/base/exit_codes.h); results go to stdout.
using Action = std::function<Status()>;

// Declares the subcommand and its options on `app`; if the user asks for it, `chosen` is set.
void add_bench(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);
void add_bench_bus(CLI::App& app, Action& chosen);
void add_camera(CLI::App& app, Action& chosen);
void add_compile(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_conformance(CLI::App& app, Action& chosen);
void add_demo(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_dump(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_install(CLI::App& app, Action& chosen);
void add_keygen(CLI::App& app, Action& chosen);
void add_record(CLI::App& app, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_rollback(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_sample(CLI::App& app, Action& chosen);
void add_selftest(CLI::App& app, Action& chosen);
void add_sign(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);

// All of the above.
void add_commands(CLI::App& app, Action& chosen);

}  // namespace modeld::modelctl
