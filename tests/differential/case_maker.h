// What a generator of one op's cases proposes, and the choices it makes it of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/program/op.h"
#include "tests/differential/random.h"
#include "tests/differential/random_values.h"

namespace modeld::test {

struct Operand {
  TensorType type;
  Values values = Values::kPlain;
  double constant = 0.15;  // how probably it is a weight rather than an input
  int64_t extent = 0;      // of the axis an index points into
  std::optional<std::vector<double>> exact = std::nullopt;  // instead of `values`
};

// One op that infer_types() may refuse: the caller asks again.
struct Proposal {
  std::vector<std::optional<Operand>> inputs;
  Attributes::Map attributes;
  bool portable = true;
};

// Choices with the taste of this generator: odd, prime and size-1 extents, few elements.
DType random_dtype(Random& random);
DType random_float(Random& random);
int64_t random_extent(Random& random);
Shape random_shape(Random& random, size_t least_rank, size_t most_rank);
// A shape that broadcasts with `shape`: some extents 1, some leading axes gone.
Shape narrowed(Random& random, Shape shape);
// Mostly plain; `worst` otherwise.
Values random_values(Random& random, Values worst);

using Generator = Proposal (*)(Random& random, OpKind kind);

// The generator of an op, or null.
Generator generator_of(OpKind kind);
// Why an op has none (it needs more than a program of one op can give), or empty.
std::string_view reason_not_generated(OpKind kind);
// Inputs of one shape and type and attributes of the kinds the schema names: for ops that have no
// generator of their own yet. Most proposals are refused.
Proposal generic_proposal(Random& random, OpKind kind);

// Families.
Proposal propose_elementwise(Random& random, OpKind kind);
Proposal propose_binary(Random& random, OpKind kind);
Proposal propose_where(Random& random, OpKind kind);
Proposal propose_product(Random& random, OpKind kind);
Proposal propose_convolution(Random& random, OpKind kind);
Proposal propose_integer(Random& random, OpKind kind);
Proposal propose_quantised(Random& random, OpKind kind);
Proposal propose_recurrent(Random& random, OpKind kind);
Proposal propose_indexed(Random& random, OpKind kind);
Proposal propose_pool(Random& random, OpKind kind);
Proposal propose_normalisation(Random& random, OpKind kind);
Proposal propose_reduction(Random& random, OpKind kind);
Proposal propose_resize(Random& random, OpKind kind);
Proposal propose_move(Random& random, OpKind kind);

}  // namespace modeld::test
