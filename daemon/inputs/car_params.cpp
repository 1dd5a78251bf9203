#include "daemon/inputs/car_params.h"

#include <system_error>

#include "ipc/schema/car.capnp.h"
#include "ipc/schema/message_reader.h"
#include "ipc/schema/read_message.h"
#include "runtime/base/file.h"

namespace modeld {

Result<std::optional<CarParamsValues>> read_car_params(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "CarParams";
  std::error_code failure;
  if (!std::filesystem::exists(path, failure) && !failure) {
    return std::optional<CarParamsValues>();
  }
  MODELD_ASSIGN(const auto bytes, read_file(path, kMaxCarParamsBytes));
  CarParamsValues values;
  ipc::MessageReader reader;
  auto read =
      ipc::read_message<wire::CarParams>(reader, bytes, [&](wire::CarParams::Reader params) {
        values.brand = params.getBrand().cStr();
        values.longitudinal_actuator_delay = params.getLongitudinalActuatorDelay();
      });
  if (!read.ok()) return Error(read.error()).in(path.string());
  // Written so that NaN fails.
  if (!(values.longitudinal_actuator_delay >= 0 &&
        values.longitudinal_actuator_delay <= kMaxActuatorDelay)) {
    return Error(ErrorCode::kCorrupt, "longitudinalActuatorDelay is not a usable time")
        .expecting("0 to 10 s", std::to_string(values.longitudinal_actuator_delay) + " s")
        .in(path.string());
  }
  return std::optional(std::move(values));
}

}  // namespace modeld
