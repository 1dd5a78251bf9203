#include "tools/modelctl/input_report.h"

#include <cstdio>
#include <string>

#include "tools/modelctl/latency_summary.h"

namespace modeld::modelctl {
namespace {

std::string size_text(FrameSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

}  // namespace

Json input_costs_json(const std::vector<InputCost>& costs) {
  Json rows = Json::array();
  for (const InputCost& cost : costs) {
    rows.push_back({{"input", to_string(cost.asked)},
                    {"used", to_string(cost.used)},
                    {"camera", size_text(cost.camera)},
                    {"frame_bytes", cost.frame_bytes},
                    {"moved_bytes", cost.moved_bytes},
                    {"runs", cost.totals.size()},
                    {"copy_ms", latency_json(summarise(cost.copies))},
                    {"latency_ms", latency_json(summarise(cost.totals))}});
  }
  return rows;
}

void print_input_costs(const std::vector<InputCost>& costs) {
  std::printf("%-9s %-9s %-10s %12s %12s | %8s %8s | %8s %8s %8s %8s\n", "input", "used", "camera",
              "in buffers", "moved", "copy p50", "p99", "all p50", "p99", "p99.9", "max");
  std::printf("%-9s %-9s %-10s %12s %12s | %8s %8s | %8s %8s %8s %8s\n", "", "", "", "bytes",
              "bytes", "ms", "ms", "ms", "ms", "ms", "ms");
  for (const InputCost& cost : costs) {
    const LatencySummary copies = summarise(cost.copies);
    const LatencySummary totals = summarise(cost.totals);
    std::printf("%-9s %-9s %-10s %12llu %12llu | %8.3f %8.3f | %8.3f %8.3f %8.3f %8.3f\n",
                std::string(to_string(cost.asked)).c_str(),
                std::string(to_string(cost.used)).c_str(), size_text(cost.camera).c_str(),
                static_cast<unsigned long long>(cost.frame_bytes),
                static_cast<unsigned long long>(cost.moved_bytes), copies.p50, copies.p99,
                totals.p50, totals.p99, totals.p999, totals.max);
  }
}

}  // namespace modeld::modelctl
