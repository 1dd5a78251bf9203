#include "runtime/device/capabilities.h"

namespace modeld {

std::string_view to_string(Probed answer) {
  switch (answer) {
    case Probed::kNo:
      return "no";
    case Probed::kYes:
      return "yes";
    case Probed::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace modeld
