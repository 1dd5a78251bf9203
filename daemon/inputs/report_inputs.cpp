#include "daemon/inputs/report_inputs.h"

namespace modeld {

void report_inputs(const TopicInputs& inputs, Nanoseconds now, std::vector<InputFacts>& facts) {
  facts.clear();
  for (const TopicInput& input : inputs.topics()) {
    facts.push_back({input.topic, input.tracker.seen(), input.tracker.alive(now),
                     input.tracker.valid(), input.tracker.rate_hz(),
                     input.tracker.rate_check(inputs.poll_hz()), input.tracker.rejected_count()});
  }
}

}  // namespace modeld
