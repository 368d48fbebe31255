// /v1/explain and /v1/entries: what the request path would do with a request, asked of the request path itself (an Exchange
// that only looks), on a thread of its own. Owner: the daemon; outlives the admin thread. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/proxy/context.hpp"
#include "weir/proxy/explanation.hpp"

namespace weir::proxy {

struct Question {
  std::string method = "GET";
  std::string url;  // "http://shop.example/a?b=1", or "/a" with a Host field
  std::vector<std::pair<std::string, std::string>> fields{};
  std::string client = "127.0.0.1";  // its address
};

class Explainer {
 public:
  explicit Explainer(Shared& shared);
  ~Explainer();
  Explainer(Explainer const&) = delete;
  Explainer& operator=(Explainer const&) = delete;

  Explanation explain(Question const& question, std::shared_ptr<Setup const> setup);

  // Everything that this process holds under the question's URL, one for each primary key: the one whose keyed headers and
  // cookies are the question's, or, with `all_keys`, any. The latter walks the whole store where more than URLs are keyed.
  struct Held {
    std::string key;
    store::Variants variants;
  };
  std::vector<Held> entries(Question const& question, bool all_keys, std::shared_ptr<Setup const> setup);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::proxy
