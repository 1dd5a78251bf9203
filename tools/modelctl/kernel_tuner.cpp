#include "tools/modelctl/kernel_tuner.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace modeld::modelctl {
namespace {

using opencl::KernelShape;
using opencl::Tuning;

constexpr size_t kFinalRounds = 3;

struct Best {
  double ms = 0;
  KernelShape shape;
};

struct Compared {
  std::vector<TrialTimes> plain, tuned;

  double plain_ms() const { return median_total(plain); }
  double tuned_ms() const { return median_total(tuned); }

 private:
  static double median_total(const std::vector<TrialTimes>& trials) {
    std::vector<double> totals;
    for (const TrialTimes& trial : trials) totals.push_back(trial.total_ms);
    std::sort(totals.begin(), totals.end());
    return totals[totals.size() / 2];
  }
};

// Both in turn, so that whatever else the machine does meets both.
Result<Compared> compare(KernelBench& bench, const Tuning& tuning) {
  Compared compared;
  for (size_t round = 0; round < kFinalRounds; ++round) {
    MODELD_ASSIGN(TrialTimes plain, bench.try_tuning({}));
    MODELD_ASSIGN(TrialTimes tuned, bench.try_tuning(tuning));
    compared.plain.push_back(std::move(plain));
    compared.tuned.push_back(std::move(tuned));
  }
  return compared;
}

// In the best of the rounds.
double least_ms(const std::vector<TrialTimes>& trials, const std::string& signature) {
  double least = std::numeric_limits<double>::infinity();
  for (const TrialTimes& trial : trials) {
    const auto found = trial.ops.find(signature);
    if (found != trial.ops.end()) least = std::min(least, found->second.ms);
  }
  return least;
}

// Keeps, for each signature, the shape whose kernels were the fastest by more than the margin.
class Search {
 public:
  Search(TrialTimes defaults, double margin) : defaults_(std::move(defaults)), margin_(margin) {}

  void add(const KernelShape& shape, const TrialTimes& times) {
    for (const auto& [signature, sample] : times.ops) {
      const auto before = defaults_.ops.find(signature);
      if (before == defaults_.ops.end() || sample.made == before->second.made) continue;
      const auto best = best_.find(signature);
      const double to_beat =
          best == best_.end() ? before->second.ms * (1 - margin_) : best->second.ms;
      if (sample.ms < to_beat) best_[signature] = {sample.ms, shape};
    }
  }

  // Takes away what was better by chance only.
  void confirm(const Compared& compared) {
    for (auto& [signature, best] : best_) {
      defaults_.ops.at(signature).ms = least_ms(compared.plain, signature);
      best.ms = least_ms(compared.tuned, signature);
    }
    std::erase_if(best_, [&](const auto& entry) {
      return !(entry.second.ms < defaults_.ops.at(entry.first).ms * (1 - margin_));
    });
  }
  bool empty() const { return best_.empty(); }

  Tuning tuning() const {
    Tuning tuning;
    for (const auto& [signature, best] : best_) {
      const OpSample& op = defaults_.ops.at(signature);
      tuning.set(signature, best.shape, op.op + " (" + op.how + ")");
    }
    return tuning;
  }

  std::vector<TunedOp> ops() const {
    std::vector<TunedOp> ops;
    for (const auto& [signature, best] : best_) {
      ops.push_back({defaults_.ops.at(signature), best.ms, best.shape});
    }
    std::stable_sort(ops.begin(), ops.end(), [](const TunedOp& a, const TunedOp& b) {
      return a.before.ms - a.after_ms > b.before.ms - b.after_ms;
    });
    return ops;
  }

 private:
  TrialTimes defaults_;
  double margin_;
  std::map<std::string, Best> best_;
};

}  // namespace

std::vector<KernelShape> candidate_shapes(const KernelShape& defaults,
                                          const opencl::DeviceInfo& device) {
  std::vector<KernelShape> shapes;
  const auto add = [&](KernelShape shape) {
    if (shape == defaults || !opencl::check_shape(shape, device).ok()) return;
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  };
  const auto vary = [&](uint32_t KernelShape::*number, std::initializer_list<uint32_t> values) {
    for (const uint32_t value : values) {
      KernelShape shape = defaults;
      shape.*number = value;
      add(shape);
    }
  };
  constexpr std::array<std::pair<uint32_t, uint32_t>, 9> kTiles = {
      {{4, 1}, {4, 2}, {6, 2}, {8, 2}, {8, 1}, {4, 4}, {6, 4}, {2, 4}, {12, 2}}};
  const auto tiles = [&](uint32_t vector) {
    for (const auto& [rows, vectors] : kTiles) {
      KernelShape shape = defaults;
      shape.vector = vector;
      shape.tile_rows = rows;
      shape.tile_vectors = vectors;
      add(shape);
    }
  };
  tiles(defaults.vector);
  vary(&KernelShape::vector, {4, 8, 16});
  vary(&KernelShape::vectors_per_item, {1, 2, 4, 16, 64});
  if (defaults.group != 1) {
    vary(&KernelShape::group, {32, 64, 128, 256});
    vary(&KernelShape::reduce_group, {1, 32, 64, 128, 256});
  }
  for (const uint32_t vector : {4u, 8u, 16u}) tiles(vector);
  return shapes;
}

Result<TuningReport> tune_kernels(KernelBench& bench, const std::vector<KernelShape>& candidates,
                                  const Clock& clock, const TunerOptions& options) {
  const Deadline end = Deadline::after(clock, options.budget);
  TuningReport report;
  report.candidates = candidates.size();
  MODELD_ASSIGN(TrialTimes defaults, bench.try_tuning({}));
  report.default_ms = report.tuned_ms = defaults.total_ms;
  Search search(std::move(defaults), options.margin);
  for (const KernelShape& shape : candidates) {
    if (end.passed(clock)) {
      report.out_of_time = true;
      break;
    }
    options.progress(static_cast<double>(report.tried) / static_cast<double>(candidates.size()));
    ++report.tried;
    auto times = bench.try_shape(shape);
    if (times.ok()) {
      search.add(shape, *times);
    } else if (times.error().code == ErrorCode::kInterrupted) {
      return times.error();
    } else {
      report.rejected.push_back({shape, to_string(times.error())});
    }
  }
  if (search.empty()) return report;
  MODELD_ASSIGN(const Compared found, compare(bench, search.tuning()));
  search.confirm(found);
  report.ops = search.ops();
  if (search.empty()) return report;
  const Tuning tuning = search.tuning();
  MODELD_ASSIGN(const Compared wholes, compare(bench, tuning));
  report.default_ms = wholes.plain_ms();
  report.tuned_ms = wholes.tuned_ms();
  report.kept = report.tuned_ms < report.default_ms * (1 - options.margin / 5);
  if (report.kept) report.tuning = tuning;
  return report;
}

}  // namespace modeld::modelctl
