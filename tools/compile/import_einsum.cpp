// Einsum as products of matrices: operand by operand, what only one side has and the result does
// not is summed first, what both have and nobody after them is summed by the product.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "tools/compile/op_families.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

using Labels = std::vector<int>;
// Axes an ellipsis stands for are numbered from here, aligned at the end.
constexpr int kEllipsis = 1000;
constexpr size_t kMaxAxes = 8;

struct Term {
  TensorId id = kNoTensor;
  Labels labels;  // one per axis
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

class EinsumImport {
 public:
  explicit EinsumImport(NodeImport& node) : node_(node) {}

  Status run() {
    MODELD_TRY(node_.expect_inputs(std::max<size_t>(node_.input_count(), 1), node_.input_count()));
    const DType dtype = node_.dtype(0);
    MODELD_TRY(read_equation());
    // Products are defined for floats and wide integers; wrapping commutes with widening.
    const bool narrow = !is_float(dtype) && size_of(dtype) < 4;
    for (Term& term : terms_) {
      if (narrow) {
        MODELD_ASSIGN(term.id, node_.cast(term.id, DType::kInt32));
      }
      MODELD_TRY(take_diagonals(term));
    }
    Term result = terms_[0];
    for (size_t i = 0; i < terms_.size(); ++i) {
      const Labels later = labels_after(i);
      MODELD_TRY(sum_out(i == 0 ? result : terms_[i], i == 0 ? later_or_other(i) : later_with(i)));
      if (i == 0) continue;
      MODELD_ASSIGN(result, product(result, terms_[i], later));
    }
    MODELD_TRY(finish(result));
    MODELD_ASSIGN(result.id, node_.cast(result.id, dtype));
    node_.set_output(0, result.id);
    return {};
  }

 private:
  const Shape& shape(const Term& term) const { return node_.draft().shape(term.id); }

  // --- the equation ---

  Result<Labels> labels_of(std::string_view text, size_t rank, size_t most_hidden) {
    Labels labels;
    const size_t dots = text.find("...");
    const size_t letters = text.size() - (dots == std::string_view::npos ? 0 : 3);
    const bool fits = dots == std::string_view::npos ? letters == rank : letters <= rank;
    if (!fits) {
      return node_.refused("attribute 'equation' does not fit an operand")
          .expecting(std::to_string(letters) + " axes", std::to_string(rank));
    }
    for (size_t i = 0; i < text.size(); ++i) {
      if (i == dots) {
        const size_t hidden = rank - letters;
        for (size_t k = 0; k < hidden; ++k) {
          labels.push_back(kEllipsis + static_cast<int>(most_hidden - hidden + k));
        }
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(text[i])) == 0) {
        return node_.refused("attribute 'equation' has an unknown sign");
      } else {
        labels.push_back(text[i]);
      }
    }
    return labels;
  }

  Status read_equation() {
    std::string equation = node_.attr_string("equation", "");
    std::erase(equation, ' ');
    if (equation.size() > 512) return node_.refused("attribute 'equation' is too long");
    const size_t arrow = equation.find("->");
    std::vector<std::string> texts(1);
    for (const char c : equation.substr(0, arrow)) {
      if (c == ',') {
        texts.emplace_back();
      } else {
        texts.back() += c;
      }
    }
    if (texts.size() != node_.input_count()) {
      return node_.refused("attribute 'equation' does not name every input")
          .expecting(std::to_string(node_.input_count()) + " operands",
                     std::to_string(texts.size()));
    }
    size_t hidden = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool dots = texts[i].find("...") != std::string::npos;
      const size_t rank = node_.shape(i).size();
      if (dots && rank + 3 >= texts[i].size()) {
        hidden = std::max(hidden, rank + 3 - texts[i].size());
      }
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      MODELD_ASSIGN(Labels labels, labels_of(texts[i], node_.shape(i).size(), hidden));
      terms_.push_back({node_.input(i), std::move(labels)});
    }
    MODELD_TRY(note_extents());
    return read_output(
        arrow == std::string::npos ? std::nullopt : std::optional(equation.substr(arrow + 2)),
        hidden);
  }

  Status note_extents() {
    for (const Term& term : terms_) {
      for (size_t i = 0; i < term.labels.size(); ++i) {
        int64_t& extent = extents_.try_emplace(term.labels[i], 1).first->second;
        const int64_t here = shape(term)[i];
        if (extent != 1 && here != 1 && here != extent) {
          return node_.refused("one label for different extents")
              .expecting(std::to_string(extent), std::to_string(here));
        }
        if (extent == 1) extent = here;
      }
    }
    return {};
  }

  // Without an arrow: the hidden axes, then every letter that occurs once, in alphabetical order.
  Status read_output(const std::optional<std::string>& text, size_t hidden) {
    if (!text) {
      for (size_t k = 0; k < hidden; ++k) output_.push_back(kEllipsis + static_cast<int>(k));
      for (const auto& [label, extent] : extents_) {
        size_t times = 0;
        for (const Term& term : terms_) {
          times += static_cast<size_t>(std::count(term.labels.begin(), term.labels.end(), label));
        }
        if (label < kEllipsis && times == 1) output_.push_back(label);
      }
      return {};
    }
    const bool dots = text->find("...") != std::string::npos;
    MODELD_ASSIGN(output_,
                  labels_of(*text, text->size() - (dots ? 3 : 0) + (dots ? hidden : 0), hidden));
    for (size_t i = 0; i < output_.size(); ++i) {
      const bool twice = std::count(output_.begin(), output_.end(), output_[i]) > 1;
      if (!twice && extents_.contains(output_[i])) continue;
      return node_.refused("the result of 'equation' repeats a label or has an unknown one");
    }
    return {};
  }

  // --- what is still needed ---

  Labels labels_after(size_t position) const {
    Labels needed = output_;
    for (size_t i = position + 1; i < terms_.size(); ++i) {
      needed.insert(needed.end(), terms_[i].labels.begin(), terms_[i].labels.end());
    }
    return needed;
  }
  Labels later_or_other(size_t position) const { return labels_after(position); }
  // Operand `position` meets the product of all before it.
  Labels later_with(size_t position) const {
    Labels needed = labels_after(position);
    for (size_t i = 0; i < position; ++i) {
      needed.insert(needed.end(), terms_[i].labels.begin(), terms_[i].labels.end());
    }
    return needed;
  }

  // --- steps ---

  // A label twice in one operand: both axes last, as one, of which every (n + 1)-th element counts.
  Status take_diagonals(Term& term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      for (size_t j = i + 1; j < term.labels.size();) {
        if (term.labels[j] != term.labels[i]) {
          ++j;
          continue;
        }
        MODELD_TRY(take_diagonal(term, i, j));
      }
    }
    return {};
  }

  Status take_diagonal(Term& term, size_t first, size_t second) {
    const Shape before = shape(term);
    if (before[first] != before[second]) {
      return node_.refused("a repeated label has different extents in one operand");
    }
    const int64_t extent = before[first];
    std::vector<int64_t> perm = {static_cast<int64_t>(first), static_cast<int64_t>(second)};
    Labels rest;
    Shape rest_shape;
    for (size_t i = 0; i < before.size(); ++i) {
      if (i == first || i == second) continue;
      perm.push_back(static_cast<int64_t>(i));
      rest.push_back(term.labels[i]);
      rest_shape.push_back(before[i]);
    }
    MODELD_ASSIGN(term.id, node_.transpose(term.id, perm));
    Shape merged = {extent * extent};
    merged.insert(merged.end(), rest_shape.begin(), rest_shape.end());
    MODELD_ASSIGN(term.id, node_.reshape(term.id, merged));
    Attributes slice;
    std::vector<int64_t> steps(merged.size(), 1);
    Shape sizes = merged;
    steps[0] = extent > 1 ? extent + 1 : 1;
    sizes[0] = extent;
    slice.set("starts", std::vector<int64_t>(merged.size(), 0));
    slice.set("steps", std::move(steps));
    slice.set("sizes", sizes);
    MODELD_ASSIGN(term.id, node_.emit(OpKind::kSlice, {term.id}, std::move(slice)));
    // The diagonal's axis goes where the first of the two was.
    std::vector<int64_t> back;
    for (size_t i = 0; i < sizes.size(); ++i) {
      back.push_back(i < first    ? static_cast<int64_t>(i) + 1
                     : i == first ? 0
                                  : static_cast<int64_t>(i));
    }
    MODELD_ASSIGN(term.id, node_.transpose(term.id, back));
    term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(second));
    return {};
  }

  // Sums over the labels nobody else needs.
  Status sum_out(Term& term, const Labels& needed) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (contains(needed, term.labels[i])) {
        kept.push_back(term.labels[i]);
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return {};
    Attributes attributes;
    attributes.set("axes", std::move(axes));
    attributes.set("keepdims", int64_t{0});
    MODELD_ASSIGN(term.id, node_.emit(OpKind::kReduceSum, {term.id}, std::move(attributes)));
    term.labels = std::move(kept);
    return {};
  }

  // The axes of `term` in the order of `labels`, all of which it has.
  Result<TensorId> ordered(const Term& term, const Labels& labels) {
    std::vector<int64_t> perm;
    for (const int label : labels) {
      perm.push_back(std::find(term.labels.begin(), term.labels.end(), label) -
                     term.labels.begin());
    }
    return node_.transpose(term.id, std::move(perm));
  }

  int64_t extent_in(const Term& term, int label) const {
    const auto at = std::find(term.labels.begin(), term.labels.end(), label);
    return at == term.labels.end() ? 1 : shape(term)[static_cast<size_t>(at - term.labels.begin())];
  }

  // An extent of 1 that meets a larger one broadcasts: where that axis is summed, the smaller side
  // leaves it out and the larger side sums alone.
  Status settle_broadcast(Term& a, Term& b, const Labels& needed) {
    for (Term* term : {&a, &b}) {
      Term& other = term == &a ? b : a;
      Labels drop;
      for (const int label : term->labels) {
        if (contains(other.labels, label) && !contains(needed, label) &&
            extent_in(*term, label) == 1 && extent_in(other, label) != 1) {
          drop.push_back(label);
        }
      }
      if (drop.empty()) continue;
      for (Term* side : {&a, &b}) {
        Labels stay;
        for (const int label : side->labels) {
          if (!contains(drop, label)) stay.push_back(label);
        }
        MODELD_TRY(sum_out(*side, stay));
      }
    }
    return {};
  }

  Result<Term> product(Term a, Term b, const Labels& needed) {
    MODELD_TRY(settle_broadcast(a, b, needed));
    Labels shared;
    Labels summed;
    Labels free_a;
    Labels free_b;
    for (const int label : a.labels) {
      if (!contains(b.labels, label)) {
        free_a.push_back(label);
      } else {
        (contains(needed, label) ? shared : summed).push_back(label);
      }
    }
    for (const int label : b.labels) {
      if (!contains(a.labels, label)) free_b.push_back(label);
    }
    Labels order_a = shared;
    order_a.insert(order_a.end(), free_a.begin(), free_a.end());
    order_a.insert(order_a.end(), summed.begin(), summed.end());
    Labels order_b = shared;
    order_b.insert(order_b.end(), summed.begin(), summed.end());
    order_b.insert(order_b.end(), free_b.begin(), free_b.end());
    MODELD_ASSIGN(const TensorId left, ordered(a, order_a));
    MODELD_ASSIGN(const TensorId right, ordered(b, order_b));
    const auto count = [&](const Term& term, const Labels& labels) {
      int64_t result = 1;
      for (const int label : labels) result *= extent_in(term, label);
      return result;
    };
    Shape shape_a;
    Shape shape_b;
    Shape out;
    for (const int label : shared) {
      shape_a.push_back(extent_in(a, label));
      shape_b.push_back(extent_in(b, label));
      out.push_back(std::max(shape_a.back(), shape_b.back()));
      if (std::min(shape_a.back(), shape_b.back()) == 0) out.back() = 0;
    }
    if (shared.size() + 2 > kMaxAxes) return node_.unsupported("more axes than a tensor may have");
    shape_a.insert(shape_a.end(), {count(a, free_a), count(a, summed)});
    shape_b.insert(shape_b.end(), {count(b, summed), count(b, free_b)});
    MODELD_ASSIGN(const TensorId matrix_a, node_.reshape(left, shape_a));
    MODELD_ASSIGN(const TensorId matrix_b, node_.reshape(right, shape_b));
    Term result;
    result.labels = shared;
    const OpKind kind = summed.empty() ? OpKind::kMul : OpKind::kMatMul;
    MODELD_ASSIGN(result.id, node_.emit(kind, {matrix_a, matrix_b}));
    for (const int label : free_a) out.push_back(extent_in(a, label));
    for (const int label : free_b) out.push_back(extent_in(b, label));
    result.labels.insert(result.labels.end(), free_a.begin(), free_a.end());
    result.labels.insert(result.labels.end(), free_b.begin(), free_b.end());
    MODELD_ASSIGN(result.id, node_.reshape(result.id, out));
    return result;
  }

  Status finish(Term& result) {
    MODELD_TRY(sum_out(result, output_));
    MODELD_ASSIGN(result.id, ordered(result, output_));
    return {};
  }

  NodeImport& node_;
  std::vector<Term> terms_;
  std::map<int, int64_t> extents_;  // by label
  Labels output_;
};

Status einsum(NodeImport& node) {
  return EinsumImport(node).run();
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Einsum", einsum},
});

}  // namespace

std::span<const ImporterRow> einsum_importers() {
  return kImporters;
}

}  // namespace modeld::compile
