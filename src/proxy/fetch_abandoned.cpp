// What becomes of a fetch that nobody waits for any more.
#include "fetch_impl.hpp"

namespace weir::proxy {

// COA-2: a shared fetch goes on while its answer can still be stored, one that nobody may join ends with its requester, an
// unsafe one is read to its end. FWD-7: what was begun for nobody is somebody's once it was joined.
void Fetch::on_interest() noexcept {
  if (in_background_ && !flight().in_background()) permit_.permit.to_foreground();
  if (order_.ticket.wanted()) return;
  abandoned_ = true;
  if (goes_on_alone()) return order_.unsafe ? void() : give_up_later();
  if (connection_) connection_->stream->close();
  parking_.interrupt();
}

// Whoever comes by then reads on as if nobody had left.
void Fetch::give_up_later() noexcept {
  try {
    if (!giving_up_) giving_up_ = std::make_shared<HeldBack>(local_.io.get_executor(), this);
    giving_up_->timer.expires_at(give_up_at());
    giving_up_->timer.async_wait([later = giving_up_](boost::system::error_code error) {
      if (!error && later->fetch != nullptr) later->fetch->give_up();
    });
  } catch (std::exception const&) { give_up(); }  // no memory for it
}

void Fetch::give_up() noexcept {
  if (order_.ticket.wanted()) return;
  gave_up_ = true;
  if (connection_) connection_->stream->close();
}

}  // namespace weir::proxy
