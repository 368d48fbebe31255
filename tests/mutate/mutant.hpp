// What a source with all its mutants in it calls (mutants.mjs writes it): each place asks whether its mutant is the one of
// this run, which WEIR_MUTANT names by number. Without one it is the original, and notes in the file that
// WEIR_MUTANT_REACHED names which mutants the tests came by and which cannot be, as their types do not fit.
// Threads: one.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <type_traits>

namespace weir::mutate {

// Allocates nothing before its end: a test counts.
class Book {
 public:
  static constexpr std::size_t most = 1 << 14;  // mutants; run.mjs refuses more

  ~Book() {
    char const* const path = std::getenv("WEIR_MUTANT_REACHED");
    if (path == nullptr) return;
    std::ofstream out(path);
    for (std::size_t id = 1; id < most; ++id) {
      if (impossible.test(id)) out << "impossible " << id << '\n';
      if (reached.test(id)) out << "reached " << id << '\n';
    }
  }

  std::bitset<most> reached, impossible;
  int chosen = std::getenv("WEIR_MUTANT") == nullptr ? 0 : std::atoi(std::getenv("WEIR_MUTANT"));
};

inline Book& book() {
  static Book book;
  return book;
}

inline bool on(int id) {
  book().reached.set(static_cast<std::size_t>(id));
  return book().chosen == id;
}

// `Is` of both operands, or the one of `Others` whose number (from `id` on) is chosen.
template <int id, class Is, class Other, class... Others, class A, class B>
auto operate(A const& a, B const& b) {
  if constexpr (std::is_invocable_v<Other, A const&, B const&>) {
    if constexpr (std::is_same_v<std::invoke_result_t<Is, A const&, B const&>, std::invoke_result_t<Other, A const&, B const&>>) {
      if (on(id)) return Other()(a, b);
    } else {
      book().impossible.set(id);
    }
  } else {
    book().impossible.set(id);
  }
  if constexpr (sizeof...(Others) > 0)
    return operate<id + 1, Is, Others...>(a, b);
  else
    return Is()(a, b);
}

template <int id, class T>
T min(T const& a, T const& b) {
  return on(id) ? std::max(a, b) : std::min(a, b);
}

template <int id, class T>
T max(T const& a, T const& b) {
  return on(id) ? std::min(a, b) : std::max(a, b);
}

template <int id, class T>
T max(std::initializer_list<T> values) {
  return on(id) ? std::min(values) : std::max(values);
}

template <int id, class T>
T negative(T const& value) {
  return on(id) ? value : -value;
}

// Off by one. `down` 0: not below.
template <int up, int down, class T>
T number(T value) {
  if (on(up)) return value + 1;
  if (down != 0 && on(down)) return value - 1;
  return value;
}

}  // namespace weir::mutate
