
#include "tools/modelctl/command.h"

namespace modeld::modelctl {

// In the order of `modelctl --help`: making artifacts, looking at them, running them;
// the daemons and what is around them.
void add_commands(CLI::App& app, Action& chosen) {
  add_sample(app, chosen);
  add_compile(app, chosen);
  add_keygen(app, chosen);
  add_sign(app, chosen);
  add_verify(app, chosen);
  add_inspect(app, chosen);
  add_run(app, chosen);
  add_bench(app, chosen);
  add_tune(app, chosen);
  add_selftest(app, chosen);
  add_conformance(app, chosen);
  add_devices(app, chosen);
  add_install(app, chosen);
  add_rollback(app, chosen);
  add_config(app, chosen);
  add_camera(app, chosen);
  add_dump(app, chosen);
  add_record(app, chosen);
  add_replay(app, chosen);
  add_bench_bus(app, chosen);
  add_demo(app, chosen);
}

}  // namespace modeld::modelctl
