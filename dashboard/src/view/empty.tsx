import type { ComponentChildren } from "preact";
import { Command } from "./command.tsx";

/** Empty state of a panel: explanation and a command to try. */
export function Empty(props: {
  readonly title: string;
  readonly command?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.command && <Command command={props.command} />}
    </div>
  );
}

export function NoMatch({ filter, onClear }: { readonly filter: string; readonly onClear: () => void }) {
  return (
    <div class="empty">
      <h2>Nothing matches “{filter}”.</h2>
      <button type="button" onClick={onClear}>
        Clear the filter
      </button>
    </div>
  );
}
