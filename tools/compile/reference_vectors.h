// What the reference interpreter says of a model: reference vectors, which slices vary, tolerances.
#pragma once

#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/base/result.h"

namespace modeld::compile {

// How far one slice is from the same network in double, and what follows from that.
struct SliceError {
  std::string output;
  std::string slice;
  double error = 0;      // largest difference of an element under any seed
  double bound = 0;      // what the precision policy may cost: u * max(1, m), m the largest
                         // magnitude the reference saw in the slice
  double tolerance = 0;  // stored in the contract
};

// A program that keeps its floats as doubles (store_floats.h), with its weights.
struct ExactProgram {
  const Program& program;
  WeightSource& weights;
};

// Fills `model.contract.references` (two seeds; one step without states, else three) and, per
// output slice,
//   varies: values more than four errors apart inside the slice under both seeds (slices of one
//     element are exempt), and as far apart between the seeds;
//   tolerances, per device class of the contract: relative 0, absolute eight times the error, but
//   at
//     least half of the bound and at most the bound. u is 1e-4, or 1e-2 where the program
//     stores values as f16, or 8e-2 as bf16; integers and truth values are exact (PRECISION.md).
// kRefused, naming the output, if the reference answers a value that is not finite, and, naming the
// slice and its error, if another policy than f32 costs more than its bound.
Result<std::vector<SliceError>> add_references(Model& model, const ExactProgram& exact);

}  // namespace modeld::compile
