import { useState } from "preact/hooks";

/** By a request and not by a form: the page's policy allows none. */
export function LogOut() {
  const [state, setState] = useState<"open" | "closing" | "failed">("open");
  const logOut = async () => {
    setState("closing");
    try {
      const { type, ok } = await fetch("logout", { method: "POST", redirect: "manual" });
      // The server sends whoever has logged out to the form.
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
        {state === "failed" ? "That did not work: try again." : ""}
      </span>
    </span>
  );
}
