// How connections to a listener begin: with a PROXY header, with TLS, with both in that order, or at once with a request.
#pragma once

#include <memory>
#include <vector>

#include "weir/config/load.hpp"
#include "weir/wire/certificates.hpp"
#include "weir/wire/proxy_header.hpp"

namespace weir::server {

struct Preface {
  std::shared_ptr<wire::Certificates const> certificates;  // null: plain
  bool proxied = false;
};

// Those of `settings.listen`, in its order. Reads every certificate anew, and adds what is wrong with them to `mistakes`.
// For the start, for `--test`, and for a reload: connections that are open keep the certificates that they began with.
std::vector<Preface> make_prefaces(config::Settings const& settings, std::vector<config::Mistake>& mistakes);

}  // namespace weir::server
