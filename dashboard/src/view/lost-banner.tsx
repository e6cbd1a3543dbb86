import type { Connection } from "../feed/follow-feed.ts";
import { formatElapsed, formatLeft } from "../text/format-duration.ts";
import { useTick } from "./hooks.ts";

export function LostBanner(props: {
  readonly connection: Extract<Connection, { kind: "lost" }>;
  readonly onRetry: () => void;
}) {
  useTick(1_000, true);
  const { sinceMs, retryAtMs, reason, isLoggedOut } = props.connection;
  const now = performance.now();
  const left = (retryAtMs - now) / 1_000;
  return (
    <div class="lost">
      <p>
        <strong role="status">Connection lost.</strong> {reason} The data is{" "}
        {formatElapsed(Math.floor((now - sinceMs) / 1_000) * 1_000).replace(".0", "")} old;{" "}
        {isLoggedOut
          ? "log in to see more."
          : left > 0
            ? `retrying in ${formatLeft(left)}.`
            : "trying again…"}
      </p>
      {isLoggedOut ? (
        <a class="button" href="login">
          Log in
        </a>
      ) : (
        <button type="button" onClick={props.onRetry}>
          Try now
        </button>
      )}
    </div>
  );
}
