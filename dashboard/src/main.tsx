import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/controls.css";
import "./style/row-progress.css";
import "./style/starting.css";
import "./style/detail.css";
import "./style/finished.css";
import "./style/lists.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { createFeedStore, createPageSchedule } from "./feed/feed-store.ts";
import { createWakeableSleep, followFeed } from "./feed/follow-feed.ts";
import { openFeed } from "./feed/open-feed.ts";

const localMs = () => performance.now();
const store = createFeedStore({ localMs, schedule: createPageSchedule() });
const { sleep, wake } = createWakeableSleep();
addEventListener("online", wake);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) wake();
});

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App store={store} onRetry={wake} />, root);
}

void followFeed({
  open: (signal) => openFeed("api/feed", { signal, onSession: store.setSession }),
  onMessage: store.push,
  onConnection: store.connect,
  nowMs: localMs,
  sleep,
  random: Math.random,
  signal: new AbortController().signal,
});
