#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/zmq_transport.h"
#include "tools/modelctl/bus_benchmark.h"
#include "tools/modelctl/command.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::vector<std::string> bytes = {"48", "4096", "65536", "1048576"};
  std::vector<std::string> transports = {"zmq-ipc", "msgq"};
  uint32_t messages = 1000;
  double rate_hz = 500;
  bool json = false;
};

constexpr uint32_t kLeastBytes = 16;
constexpr uint32_t kMostBytes = 3'000'000;

Result<std::vector<size_t>> sizes_of(const Options& options) {
  std::vector<size_t> sizes;
  for (const std::string& text : options.bytes) {
    uint32_t size = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), size);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || size < kLeastBytes ||
        size > kMostBytes) {
      return Error(ErrorCode::kInvalidArgument, "--bytes")
          .expecting(std::to_string(kLeastBytes) + " to " + std::to_string(kMostBytes), text);
    }
    sizes.push_back(size);
  }
  return sizes;
}

// Places of our own for sockets and rings, gone at the end.
class Places {
 public:
  Places()
      : name_("bench-" + std::to_string(::getpid())),
        sockets_(std::filesystem::temp_directory_path() / name_) {}
  ~Places() {
    std::error_code ignored;
    std::filesystem::remove_all(sockets_, ignored);
    std::filesystem::remove_all(rings(), ignored);
  }

  Result<std::unique_ptr<ipc::Transport>> open(const std::string& kind) const {
    const Clock& clock = Clock::real();
    if (kind == "msgq") {
      std::error_code failed;
      std::filesystem::create_directories(rings(), failed);
      ipc::MsgqOptions msgq;
      msgq.prefix = name_;
      MODELD_ASSIGN(auto transport, ipc::MsgqTransport::create(clock, std::move(msgq)));
      return std::unique_ptr<ipc::Transport>(std::move(transport));
    }
    ipc::ZmqOptions zmq;
    zmq.ipc_dir = sockets_;
    MODELD_ASSIGN(auto transport, ipc::ZmqTransport::create(clock, std::move(zmq)));
    return std::unique_ptr<ipc::Transport>(std::move(transport));
  }

 private:
  std::filesystem::path rings() const { return "/dev/shm/msgq_" + name_; }

  const std::string name_;
  const std::filesystem::path sockets_;
};

Json microseconds(const LatencySummary& summary) {
  return {{"mean_us", summary.mean * 1e3}, {"p50_us", summary.p50 * 1e3},
          {"p90_us", summary.p90 * 1e3},   {"p99_us", summary.p99 * 1e3},
          {"p999_us", summary.p999 * 1e3}, {"max_us", summary.max * 1e3}};
}

void print_row(const std::string& kind, size_t bytes, const BusBenchmark& result) {
  std::printf("%-8s %9zu  %8.1f %8.1f  %8.1f %8.1f %8.1f %9.1f %5llu  %10.0f %9.0f\n", kind.c_str(),
              bytes, result.send.p50 * 1e3, result.send.p99 * 1e3, result.arrival.p50 * 1e3,
              result.arrival.p99 * 1e3, result.arrival.p999 * 1e3, result.arrival.max * 1e3,
              static_cast<unsigned long long>(result.lost), result.messages_per_s,
              result.megabytes_per_s);
  std::fflush(stdout);
}

Status bench(const Options& options) {
  MODELD_ASSIGN(const std::vector<size_t> sizes, sizes_of(options));
  const Places places;
  Json rows = Json::array();
  if (!options.json) {
    std::printf("%-8s %9s  %8s %8s  %8s %8s %8s %9s %5s  %10s %9s\n", "", "bytes", "send p50",
                "p99 us", "here p50", "p99", "p99.9", "max us", "lost", "messages/s", "MB/s");
  }
  for (const size_t bytes : sizes) {
    for (const std::string& kind : options.transports) {
      BusBenchmarkOptions run;
      run.message_bytes = bytes;
      run.paced_messages = options.messages;
      run.rate_hz = options.rate_hz;
      run.burst_messages = 4 * options.messages;
      // What is under way must fit a ring of 10 MiB, with room.
      run.window = bytes > 65536 ? 4 : 64;
      MODELD_ASSIGN(const BusBenchmark result,
                    benchmark_bus(
                        Clock::real(), [&] { return places.open(kind); }, run));
      if (!options.json) print_row(kind, bytes, result);
      rows.push_back({{"transport", kind},
                      {"message_bytes", bytes},
                      {"send", microseconds(result.send)},
                      {"arrival", microseconds(result.arrival)},
                      {"lost", result.lost},
                      {"messages_per_s", result.messages_per_s},
                      {"megabytes_per_s", result.megabytes_per_s}});
    }
  }
  if (options.json) print_json({{"messages", options.messages}, {"rows", rows}});
  return {};
}

}  // namespace

void add_bench_bus(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(
      app, "bench-bus",
      "Measure how fast messages travel: time to send, time until they are there, throughput");
  command.add_option("--bytes", options->bytes, "Size of a message; may be given many times")
      .with_default();
  command
      .add_option("--transport", options->transports, "Which to compare; may be given many times")
      .one_of({"zmq-ipc", "msgq"})
      .with_default();
  command.add_option("--messages", options->messages, "Messages per row for latency")
      .in_range(1u, 1'000'000u)
      .with_default();
  command.add_option("--rate", options->rate_hz, "How often one is sent for latency, per second")
      .in_range(1.0, 1e5)
      .with_default();
  command.add_json_flag(options->json);
  command.set_example("modelctl bench-bus --bytes 4096 --bytes 65536 --messages 2000");
  command.set_action(chosen, [options] { return bench(*options); });
}

}  // namespace modeld::modelctl
