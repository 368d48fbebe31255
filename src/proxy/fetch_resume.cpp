// REL-4: a shared body that broke off goes on where it stopped, once, if the origin can prove that it is still the same.
#include "fetch_impl.hpp"
#include "weir/cache/head.hpp"
#include "weir/http/etag.hpp"
#include "weir/http/range.hpp"

namespace weir::proxy {

bool Fetch::may_resume() const noexcept {
  return order_.shared && storing_ && !order_.body && !resumed_ && !nobody_wants_it() && response_.status == 200 &&
         http::is_strong_etag(flight().head()->etag());
}

// Whether the 206 continues what is there: the same representation, from the next byte to the end, in one framing only.
bool Fetch::continues_body() const {
  auto const& head = *flight().head();
  auto const stored = cache::parse_head_fields(head.head);
  auto const place = response_.fields.only(http::FieldId::content_range);
  auto const range = place ? http::parse_content_range(*place) : std::nullopt;
  if (response_.status != 206 || !range || !range->complete_length) return false;
  auto const complete = *range->complete_length;
  return http::strong_match(head.etag(), response_.fields.only(http::FieldId::etag).value_or("")) &&
         http::Fields(stored).first(http::FieldId::content_encoding) ==
             response_.fields.first(http::FieldId::content_encoding) &&
         range->range.first == flight().size() && range->range.last + 1 == complete &&
         (!head.length || *head.length == complete) && response_.framing.kind == http::BodyKind::length &&
         response_.framing.length == complete - flight().size();
}

// True: the rest came too. The permit is kept all along.
asio::awaitable<bool> Fetch::resume() {
  resumed_ = true;
  tell_breaker(false);
  told_healthy_ = false;
  note(observe::FetchResult::broken);
  order_.why = observe::FetchClass::resume;
  order_.basis = nullptr;
  auto& fields = order_.request.fields;
  fields.set(http::FieldId::range, "bytes=" + std::to_string(flight().size()) + '-');
  fields.set(http::FieldId::if_range, flight().head()->etag());
  connection_->stream->close();
  auto const due = base::Clock::now() + order_.origin->settings.timeouts.origin;
  if (co_await attempt(origin::Want::new_only, due)) co_return false;
  if (!continues_body()) co_return false;
  co_return co_await receive();
}

}  // namespace weir::proxy
