// RNN, GRU and LSTM: what the input gives to every gate of every step in one product, then a kernel
// or two for each step, a work-item per direction, sequence and unit. Formulas and gate order:
// OPS.md.
#include <optional>

#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"
#include "runtime/program/recurrent.h"

namespace modeld::opencl {
namespace {

std::string gate_function(const GateActivation& gate, const std::string& x, Compute compute) {
  const auto text = [&](std::string_view form) {
    return fill(form, {{"x", x},
                       {"t", type_name(compute)},
                       {"a", literal(gate.alpha, compute)},
                       {"b", literal(gate.beta, compute)}});
  };
  switch (gate.function) {
    case GateFunction::kAffine:
      return text("(@a@ * @x@ + @b@)");
    case GateFunction::kElu:
      return text("(@x@ < 0 ? @a@ * expm1(@x@) : @x@)");
    case GateFunction::kHardSigmoid:
      return text("fmin(fmax(@a@ * @x@ + @b@, (@t@)0), (@t@)1)");
    case GateFunction::kLeakyRelu:
      return text("(@x@ < 0 ? @a@ * @x@ : @x@)");
    case GateFunction::kRelu:
      return text("(@x@ < 0 ? (@t@)0 : @x@)");
    case GateFunction::kScaledTanh:
      return text("(@a@ * tanh(@b@ * @x@))");
    case GateFunction::kSigmoid:
      return text("((@t@)1 / ((@t@)1 + exp(-@x@)))");
    case GateFunction::kSoftplus:
      return text("(@x@ > 0 ? @x@ + log1p(exp(-@x@)) : log1p(exp(@x@)))");
    case GateFunction::kSoftsign:
      return text("(@x@ / ((@t@)1 + fabs(@x@)))");
    case GateFunction::kTanh:
      return text("tanh(@x@)");
    default:
      return text("(@x@ >= @a@ ? @x@ : (@t@)0)");
  }
}

// One op's tensors, and the memory between its kernels. Coordinates of every kernel: c0 direction,
// c1 sequence, c2 unit.
class Recurrent {
 public:
  explicit Recurrent(Lowering& lowering)
      : lowering_(lowering),
        op_(lowering.op()),
        functions_(*recurrent_activations(op_.attributes)),
        dtype_(lowering.dtype(op_.inputs[0])),
        compute_(compute_of(dtype_)),
        type_(type_name(compute_)),
        x_(lowering.view(op_.inputs[0])),
        w_(lowering.view(op_.inputs[1])),
        r_(lowering.view(op_.inputs[2])),
        y_(lowering.define(op_.outputs[0], Layout::kPlain)),
        steps_(x_.shape[0]),
        directions_(w_.shape[0]),
        hidden_(r_.shape[2]),
        gates_(recurrent_gates(op_.kind)),
        units_({directions_, x_.shape[1], hidden_}),
        reversed_(op_.attributes.get_string("direction") == "reverse") {}

  void lower();

 private:
  bool optional(size_t input) const { return has(op_, input); }
  View state() {
    return lowering_.temporary(compute_ == Compute::kDouble ? DType::kFloat64 : DType::kFloat32,
                               units_);
  }
  // The initial state of an input, or zeros.
  View initial(size_t input, const char* how);
  void project();
  // Opens a step's kernel: `count` steps of this sequence, `t` the step at hand, as `number`.
  void open_step(PlainKernel& kernel, int64_t step);
  std::string bias(KernelWriter& writer, int64_t row);
  // The sum over units k of `h` (a value in terms of k) times row `gate` of R.
  std::string recurrent_sum(KernelWriter& writer, const std::string& variable, int64_t gate,
                            const std::string& h);
  std::string from_x(KernelWriter& writer, int64_t gate) const;
  std::string element(KernelWriter& writer, const View& view, const std::string& at) const {
    return load(view.dtype, writer.input(view), at, compute_);
  }
  // f of a gate, its argument clipped; by direction where there are two.
  std::string gate(size_t function, const std::string& x, bool clips = true) const;
  // Of a state: unit k of the sequence at hand.
  std::string row_of(const std::string& k) const {
    return "(c0 * " + text(units_[1]) + " + c1) * " + text(hidden_) + " + " + k;
  }
  void step_kernel(int64_t step, const View& from, const View& to);
  void reset_kernel(int64_t step, const View& from);
  void write_lstm(KernelWriter& writer, const View& from);
  void write_gru(KernelWriter& writer, const View& from);
  bool resets_before() const {
    return op_.kind == OpKind::kGru && op_.attributes.get_int("linear_before_reset") == 0;
  }

  Lowering& lowering_;
  const Op& op_;
  const std::vector<GateActivation> functions_;
  const DType dtype_;
  const Compute compute_;
  const std::string type_;
  const View x_, w_, r_, y_;
  const int64_t steps_, directions_, hidden_, gates_;
  const Shape units_;
  const bool reversed_;
  View projected_;
  View cell_;   // LSTM
  View reset_;  // GRU: the state times the reset gate
};

View Recurrent::initial(size_t input, const char* how) {
  const View to = state();
  PlainKernel kernel(lowering_, units_);
  if (kernel.empty()) return to;
  std::string value = "0";
  if (optional(input)) {
    const View given = lowering_.view(op_.inputs[input]);
    value = element(kernel.writer, given, kernel.at(given));
  }
  kernel.writer << store(to.dtype, kernel.writer.output(to), kernel.at(to), value, compute_)
                << "\n";
  std::move(kernel).add(how);
  return to;
}

// projected[t][d][b][gate * hidden + j] = x[t][b] . W[d][row] + biases; R's bias of GRU's last gate
// is left to the step.
void Recurrent::project() {
  const Shape shape{steps_, directions_, units_[1], gates_ * hidden_};
  projected_ =
      lowering_.temporary(compute_ == Compute::kDouble ? DType::kFloat64 : DType::kFloat32, shape);
  PlainKernel kernel(lowering_, shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string x_at = "c0 * " + text(x_.strides[0]) + " + c2 * " + text(x_.strides[1]);
  const std::string w_at = "c1 * " + text(w_.strides[0]) + " + c3 * " + text(w_.strides[1]);
  writer << type_ << " v = 0;\nfor (int k = 0; k < " << text(x_.shape[2])
         << "; ++k) v += " << element(writer, x_, x_at + " + k * " + text(x_.strides[2])) << " * "
         << element(writer, w_, w_at + " + k * " + text(w_.strides[2])) << ";\n";
  if (optional(3)) {
    const View b = lowering_.view(op_.inputs[3]);
    const std::string at = "c1 * " + text(b.strides[0]) + " + c3 * " + text(b.strides[1]);
    const int64_t recurrent = gates_ * hidden_ * b.strides[1];
    writer << "v += " << element(writer, b, at) << ";\n";
    if (op_.kind == OpKind::kGru) writer << "if (c3 < " << text(2 * hidden_) << ") ";
    writer << "v += " << element(writer, b, at + " + " + text(recurrent)) << ";\n";
  }
  writer << store(projected_.dtype, writer.output(projected_), kernel.at(projected_), "v", compute_)
         << "\n";
  std::move(kernel).add("recurrent inputs");
}

// Steps behind a sequence's length leave its state and put zeros out.
void Recurrent::open_step(PlainKernel& kernel, int64_t step) {
  KernelWriter& writer = kernel.writer;
  const std::string number = writer.number(step);
  std::string count = text(steps_);
  if (optional(4)) {
    const View lengths = lowering_.view(op_.inputs[4]);
    count = "clamp(" +
            load(lengths.dtype, writer.input(lengths), "c1 * " + text(lengths.strides[0]),
                 Compute::kSigned) +
            ", 0L, (long)" + count + ")";
  }
  const std::string backwards = reversed_ ? "1" : "c0 == 1";
  writer << "const long count = " << count << ";\nconst int runs = " << number
         << " < count;\nconst long t = runs && (" << backwards << ") ? count - 1 - " << number
         << " : " << number << ";\n";
}

std::string Recurrent::from_x(KernelWriter& writer, int64_t gate) const {
  return element(writer, projected_,
                 "((t * " + text(directions_) + " + c0) * " + text(units_[1]) + " + c1) * " +
                     text(gates_ * hidden_) + " + " + text(gate * hidden_) + " + c2");
}

std::string Recurrent::bias(KernelWriter& writer, int64_t row) {
  if (!optional(3)) return "0";
  const View b = lowering_.view(op_.inputs[3]);
  return element(
      writer, b,
      "c0 * " + text(b.strides[0]) + " + (" + text(row) + " + c2) * " + text(b.strides[1]));
}

std::string Recurrent::recurrent_sum(KernelWriter& writer, const std::string& variable,
                                     int64_t gate, const std::string& h) {
  const std::string at = "c0 * " + text(r_.strides[0]) + " + (" + text(gate * hidden_) +
                         " + c2) * " + text(r_.strides[1]) + " + k * " + text(r_.strides[2]);
  return type_ + " " + variable + " = 0;\nfor (int k = 0; k < " + text(hidden_) + "; ++k) " +
         variable + " += " + h + " * " + element(writer, r_, at) + ";\n";
}

std::string Recurrent::gate(size_t function, const std::string& x, bool clips) const {
  std::string value = x;
  if (clips && op_.attributes.has("clip")) {
    const double clip = op_.attributes.get_float("clip");
    value = fill("(@x@ < @low@ ? @low@ : (@x@ > @high@ ? @high@ : @x@))",
                 {{"x", x}, {"low", literal(-clip, compute_)}, {"high", literal(clip, compute_)}});
  }
  const std::string first = gate_function(functions_[function], value, compute_);
  if (directions_ == 1) return first;
  return "(c0 == 0 ? " + first + " : " +
         gate_function(functions_[recurrent_functions(op_.kind) + function], value, compute_) + ")";
}

// reset[j] = r[j] * h[j], for all units before the candidate's product.
void Recurrent::reset_kernel(int64_t step, const View& from) {
  PlainKernel kernel(lowering_, units_);
  KernelWriter& writer = kernel.writer;
  open_step(kernel, step);
  writer << "if (!runs) return;\n"
         << recurrent_sum(writer, "s", 1, element(writer, from, row_of("k"))) << "const " << type_
         << " u = " << from_x(writer, 1) << " + s;\nconst " << type_ << " v = " << gate(0, "u")
         << " * " << element(writer, from, kernel.at(from)) << ";\n"
         << store(reset_.dtype, writer.output(reset_), kernel.at(reset_), "v", compute_) << "\n";
  std::move(kernel).add("recurrent reset");
}

void Recurrent::write_gru(KernelWriter& writer, const View& from) {
  const std::string h = element(writer, from, row_of("k"));
  const std::string own = element(writer, from, row_of("c2"));
  writer << recurrent_sum(writer, "s0", 0, h)
         << recurrent_sum(writer, "s2", 2,
                          resets_before() ? element(writer, reset_, row_of("k")) : h)
         << "s2 += " << bias(writer, (gates_ + 2) * hidden_) << ";\n";
  if (!resets_before()) {
    writer << recurrent_sum(writer, "s1", 1, h) << "const " << type_
           << " u1 = " << from_x(writer, 1) << " + s1;\ns2 *= " << gate(0, "u1") << ";\n";
  }
  writer << fill(R"CL(const @t@ u0 = @x0@ + s0, u2 = @x2@ + s2;
const @t@ update = @g0@;
const @t@ fresh = @g2@;
value = (1 - update) * fresh + update * @own@;
)CL",
                 {{"t", type_},
                  {"x0", from_x(writer, 0)},
                  {"x2", from_x(writer, 2)},
                  {"g0", gate(0, "u0")},
                  {"g2", gate(1, "u2")},
                  {"own", own}});
}

void Recurrent::write_lstm(KernelWriter& writer, const View& from) {
  const std::string h = element(writer, from, row_of("k"));
  for (int64_t g = 0; g < 4; ++g) {
    const std::string n = std::to_string(g);
    writer << recurrent_sum(writer, "s" + n, g, h) << type_ << " u" << n << " = "
           << from_x(writer, g) << " + s" << n << ";\n";
  }
  const std::string c = writer.output(cell_) + "[" + row_of("c2") + "]";
  const auto peephole = [&](int64_t block, const std::string& cell) {
    if (!optional(7)) return std::string();
    const View p = lowering_.view(op_.inputs[7]);
    return " + " + cell + " * " +
           element(writer, p,
                   "c0 * " + text(p.strides[0]) + " + (" + text(block * hidden_) + " + c2) * " +
                       text(p.strides[1]));
  };
  const bool coupled = op_.attributes.get_int("input_forget") != 0;
  writer << fill(R"CL(const @t@ old = @c@;
u0 = u0@p0@;
u2 = u2@p2@;
const @t@ in = @g0@;
const @t@ forget = @forget@;
const @t@ cell = forget * old + in * @g3@;
u1 = u1@p1@;
@c@ = cell;
const @t@ out = @g1@;
value = out * @h@;
)CL",
                 {{"t", type_},
                  {"c", c},
                  {"p0", peephole(0, "old")},
                  {"p2", peephole(2, "old")},
                  {"p1", peephole(1, "cell")},
                  {"g0", gate(0, "u0")},
                  {"forget", coupled ? "1 - in" : gate(0, "u2")},
                  {"g3", gate(1, "u3")},
                  {"g1", gate(0, "u1")},
                  {"h", gate(2, "cell", /*clips=*/false)}});
}

void Recurrent::step_kernel(int64_t step, const View& from, const View& to) {
  PlainKernel kernel(lowering_, units_);
  KernelWriter& writer = kernel.writer;
  open_step(kernel, step);
  writer << type_ << " value = 0;\nif (runs) {\n";
  if (op_.kind == OpKind::kLstm) {
    write_lstm(writer, from);
  } else if (op_.kind == OpKind::kGru) {
    write_gru(writer, from);
  } else {
    writer << recurrent_sum(writer, "s", 0, element(writer, from, row_of("k"))) << "const " << type_
           << " u = " << from_x(writer, 0) << " + s;\nvalue = " << gate(0, "u") << ";\n";
  }
  View y = y_;  // of one step: (directions, batch, hidden)
  y.shape = units_;
  y.strides.erase(y.strides.begin());
  writer << "}\nconst " << type_
         << " kept = runs ? value : " << element(writer, from, kernel.at(from)) << ";\n"
         << store(to.dtype, writer.output(to), kernel.at(to), "kept", compute_) << "\n"
         << store(y.dtype, writer.output(y), "t * " + text(y_.strides[0]) + " + " + kernel.at(y),
                  narrowed("value", compute_, dtype_), compute_)
         << "\n";
  std::move(kernel).add("recurrent step");
}

void Recurrent::lower() {
  const View y_h = lowering_.define(op_.outputs[1], Layout::kPlain);
  std::optional<View> y_c;
  if (op_.kind == OpKind::kLstm) y_c = lowering_.define(op_.outputs[2], Layout::kPlain);
  View from = initial(5, "recurrent start");
  View to = state();
  if (op_.kind == OpKind::kLstm) cell_ = initial(6, "recurrent start");
  if (resets_before()) reset_ = state();
  project();
  for (int64_t step = 0; step < steps_ && from.elements() > 0; ++step) {
    if (resets_before()) reset_kernel(step, from);
    step_kernel(step, from, to);
    std::swap(from, to);
  }
  // Rounded to the outputs' type on the way.
  lowering_.add_copy(from, y_h, "copy");
  if (y_c) lowering_.add_copy(cell_, *y_c, "copy");
}

}  // namespace

void plain_recurrent(Lowering& lowering) {
  Recurrent(lowering).lower();
}

}  // namespace modeld::opencl
