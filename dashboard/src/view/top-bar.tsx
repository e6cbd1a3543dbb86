import { useEffect, useRef, useState } from "preact/hooks";
import type { FeedState } from "../feed/feed-state.ts";
import type { Connection } from "../feed/follow-feed.ts";

const connectionWords = { connecting: "Connecting", live: "Live", lost: "Not connected" } as const;

export function TopBar(props: {
  readonly cluster: FeedState["cluster"];
  readonly connection: Connection;
  readonly hasSession: boolean;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  const { kind } = props.connection;
  return (
    <header class="top">
      <h1 class="brand">
        <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
          <path
            class="flame"
            d="M12 1.500c.6 4-4.900 6.300-6.600 10.300-1.900 4.600 1.200 10.700 6.600 10.700s8.700-5.200 7.100-9.800c-.5-1.500-1.500-2.600-2.200-3.800-.4 1.500-1 2.400-2 3 .5-3.900-.3-7.700-2.900-10.400z"
          />
        </svg>
        Kindling
      </h1>
      {props.cluster && (
        <p class="cluster">
          <bdi>{props.cluster.server}</bdi> <span class="version">{props.cluster.version}</span>
        </p>
      )}
      <label class="filter">
        <span class="offscreen">Filter by namespace and name</span>
        <input
          ref={input}
          type="search"
          placeholder="Filter by namespace or name"
          aria-keyshortcuts="/"
          value={props.filter}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => props.onFilter(event.currentTarget.value)}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
      </label>
      <p class={`connection is-${kind}`}>
        <span class="dot" aria-hidden="true" />
        {connectionWords[kind]}
      </p>
      {props.hasSession && <LogOut />}
    </header>
  );
}

/** Log-out button. Sends a request, because the content security policy allows no forms. */
function LogOut() {
  const [state, setState] = useState<"open" | "closing" | "failed">("open");
  const logOut = async () => {
    setState("closing");
    try {
      const { type, ok } = await fetch("logout", { method: "POST", redirect: "manual" });
      // The server redirects to the login page after logging out.
      if (type !== "opaqueredirect" && !ok) throw new Error("not logged out");
      location.assign("login");
    } catch {
      setState("failed");
    }
  };
  return (
    <span class="log-out">
      <button type="button" disabled={state === "closing"} onClick={logOut}>
        Log out
      </button>
      <span role="status" class={state === "failed" ? "muted" : "offscreen"}>
        {state === "failed" ? "Logging out failed. Try again." : ""}
      </span>
    </span>
  );
}
