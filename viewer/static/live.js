// The connection to an episode that is being played.

/** Listens to an episode; the browser reconnects by itself and says where it stopped. */
export class Live {
  /** `on` has the functions turn, account, now, end, reset and state. */
  constructor(episode, on) {
    this.source = new EventSource(episode.stream);
    on.state("connecting");
    this.source.addEventListener("open", () => on.state("live"));
    this.source.addEventListener("turn", (event) => on.turn(JSON.parse(event.data)));
    this.source.addEventListener("episode", (event) => on.account(JSON.parse(event.data)));
    this.source.addEventListener("now", (event) => on.now(JSON.parse(event.data)));
    this.source.addEventListener("reset", () => on.reset());
    this.source.addEventListener("end", (event) => {
      this.close();
      on.end(JSON.parse(event.data).reason);
    });
    this.source.addEventListener("error", () => {
      const over = this.source.readyState === EventSource.CLOSED;
      on.state(over ? "disconnected" : "reconnecting");
    });
  }

  close() {
    this.source.close();
  }
}
