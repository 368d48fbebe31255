// What reading a configuration carries along: the path, the mistakes, the environment. One a load. Threads: its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "item.hpp"

namespace weir::config {

class Reader {
 public:
  Reader(Sources const& sources, Mistakes& mistakes, std::vector<std::string>& warnings)
      : sources_(sources), mistakes_(mistakes), warnings_(warnings) {}

  // While it lives, the path is one step longer: "a" to "a.key" or "a[3]".
  class Step {
   public:
    Step(Reader& reader, std::string_view key);
    Step(Reader& reader, std::size_t index);
    ~Step() { reader_.path_.resize(size_); }
    Step(Step const&) = delete;
    Step& operator=(Step const&) = delete;

   private:
    Reader& reader_;
    std::size_t size_;
  };

  std::string const& path() const noexcept { return path_; }
  void mistake(Place const& place, std::string what) { mistakes_.add(place, path_, std::move(what)); }
  void mistake(Item const& item, std::string what) { mistake(item.place, std::move(what)); }
  void warn(std::string what);

  // The text of a scalar without control characters, else a mistake ("expected <what>") and null.
  std::string const* text_of(Item const& item, std::string_view expected);
  // `text` with each ${NAME} replaced. False after a mistake: an undefined name, or a "${" that does not close.
  bool substitute(Item const& item, std::string& text);
  // The content of a regular file of at most `most` bytes. False after a mistake.
  bool read_file(Item const& item, std::string const& file, std::uint64_t most, std::string& text);
  // The content of a secret's file, without the line's end. False after a mistake.
  bool read_secret(Item const& item, std::string const& file, std::string& secret);

 private:
  std::string const* variable(std::string_view name) const noexcept;

  Sources const& sources_;
  Mistakes& mistakes_;
  std::vector<std::string>& warnings_;
  std::string path_;
};

// "did you mean `x`?" with the nearest of the known words by edit distance.
std::string nearest(std::string_view word, std::vector<std::string> const& known);

}  // namespace weir::config
