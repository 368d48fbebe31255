// A certificate of one's own making, as files. Threads: one.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

class Certificate {
 public:
  // Self-signed, good for a day, for hosts (a `*` at the front is allowed) and IPv4 addresses. Fails the test if it cannot
  // be made.
  explicit Certificate(std::vector<std::string> const& names);
  ~Certificate();  // removes the files
  Certificate(Certificate const&) = delete;
  Certificate& operator=(Certificate const&) = delete;

  std::string const& file() const noexcept { return file_; }
  std::string const& key_file() const noexcept { return key_file_; }
  // Another one for these names, in the same files.
  void renew(std::vector<std::string> const& names);

 private:
  std::string file_, key_file_;
};

}  // namespace weir::test
