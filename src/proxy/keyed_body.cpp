// COA-12: reads whose bodies are part of their keys. The body is read whole, up to a bound, before anything else happens;
// then such a request is like any other that can be looked up, joined and repeated.
#include <algorithm>

#include "weir/base/hash.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using http::FieldId;
using http::Method;

// QUERY is a read by its definition, a GET with a body by its method, a POST because the route names it.
bool Exchange::opted_in() const noexcept {
  auto const& policy = *routed_.policy;
  if (!policy.cache || !policy.collapse_body.key_body || request_.path == "*") return false;
  switch (request_.method_id) {
    case Method::query:
      return true;
    case Method::get:
      return request_.has_body();
    case Method::post:
      return routed_.route != nullptr && std::ranges::find(routed_.route->methods, "POST") != routed_.route->methods.end();
    default:
      return false;
  }
}

// What is known to be too large is not read at all.
bool Exchange::keys_body() const noexcept {
  return opted_in() && !(request_.framing.kind == http::BodyKind::length &&
                         request_.framing.length > routed_.policy->collapse_body.max_body);
}

// `end`: it is there, or as much of it as shows that it is too large to be keyed; else what went wrong.
asio::awaitable<BodyRead> Exchange::gather_body() {
  body_ = std::make_shared<std::string>();
  if (request_.has_body()) {
    client_->begin_body(request_.framing, settings().limits.body_bytes);
    if (request_.expects_continue) {
      // Nobody else can say it: the origin is not asked before the body is known. Nor is it asked to say it again.
      if (!co_await client_->write("HTTP/1.1 100 Continue\r\n\r\n", no_progress())) co_return BodyRead::gone;
      request_.expects_continue = false;
      for (auto* const fields : {&own_->fields, &edited_})
        std::erase_if(*fields, [](http::Field const& field) { return field.id == FieldId::expect; });
      as_it_came_ = http::Fields(own_->fields);
      request_.fields = is_edited_ ? http::Fields(edited_) : as_it_came_;
    }
    for (;;) {
      auto const piece = co_await client_->read_body(no_progress());
      if (piece.what == BodyRead::end) break;
      if (piece.what != BodyRead::bytes) co_return piece.what;
      body_->append(piece.bytes);
      if (body_->size() > routed_.policy->collapse_body.max_body) co_return BodyRead::end;
    }
  }
  digest_ = base::sha256(*body_);
  co_return BodyRead::end;
}

// The method stays, and so does what tells how to read the body; it is sent in one piece, however it came.
void Exchange::carry_body(FetchOrder& order) const {
  auto const& rules = routed_.policy->collapse_body;
  auto& forward = order.request;
  forward.method = request_.method;
  forward.method_id = request_.method_id;
  if (request_.has_body()) forward.framing = {http::BodyKind::length, body_->size()};
  if (request_.has_body() && seldom_has_body(request_.method_id)) forward.fields.add(FieldId::connection, "close");
  for (auto const id : {FieldId::content_type, FieldId::content_encoding}) {
    if (forward.fields.fields().has(id)) continue;
    for (auto const& field : request_.fields)
      if (field.id == id) forward.fields.add(field.name, field.value);
  }
  order.body = body_;
  order.requester.method = Method::get;
  order.requester.kept_for = rules.ttl;
  order.requester.keeps_errors = rules.errors;
  order.may_store = decision_.may_store;
}

}  // namespace weir::proxy
