// Which backends the suite runs on: every one of this build, and the scripted double.
#include "runtime/device/backends.h"
#include "runtime/opencl/opencl_device.h"
#include "tests/conformance/backend_suite.h"
#include "tests/support/cl_layer.h"
#include "tests/support/scripted_device.h"

namespace modeld::test {

std::vector<BackendCase> all_backends() {
  std::vector<BackendCase> cases;
  for (const std::string& name : backend_names()) {
    if (name == "opencl") continue;
    cases.push_back({name, [name] { return open_backend(name); }, {}});
  }
  cases.push_back({"opencl",
                   [] {
                     opencl::OpenOptions options;
                     options.wish.software = true;
                     options.calls = &ClLayer::calls();
                     return opencl::open_device(options);
                   },
                   &ClLayer::driver_allocations});
  for (const bool coherent : {true, false}) {
    cases.push_back({coherent ? "scripted" : "scripted_non_coherent",
                     [coherent]() -> Result<std::unique_ptr<Device>> {
                       auto script = std::make_shared<Script>();
                       script->set_non_coherent(!coherent);
                       return open_scripted_device(script);
                     },
                     {}});
  }
  return cases;
}

namespace {

std::string case_name(const testing::TestParamInfo<BackendCase>& one) {
  return one.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backend, Conformance, testing::ValuesIn(all_backends()), case_name);

}  // namespace
}  // namespace modeld::test
