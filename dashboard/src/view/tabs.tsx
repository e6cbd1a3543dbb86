import { useRef } from "preact/hooks";

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  readonly count: number;
  /** Text of an alert badge for problems in this tab. */
  readonly alert?: string | undefined;
}

/** Tab list with one tab stop; arrow keys move between the tabs. */
export function Tabs<Id extends string>(props: {
  readonly tabs: readonly Tab<Id>[];
  readonly selected: Id;
  readonly onSelect: (id: Id) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = tabAfterKey(
      event.key,
      props.tabs.findIndex(({ id }) => id === props.selected),
      props.tabs.length,
    );
    const tab = to === undefined ? undefined : props.tabs[to];
    if (!tab) return;
    event.preventDefault();
    props.onSelect(tab.id);
    list.current?.querySelector<HTMLElement>(`#tab-${tab.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" ref={list} onKeyDown={onKeyDown}>
      {props.tabs.map(({ id, label, count, alert }) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={id === props.selected}
          aria-controls="panel"
          tabIndex={id === props.selected ? 0 : -1}
          onClick={() => props.onSelect(id)}
        >
          {label} <span class="count">{count.toLocaleString("en")}</span>
          {alert && (
            <span class="tab-alert" title={alert}>
              <span class="offscreen">{alert}</span>
            </span>
          )}
        </button>
      ))}
    </div>
  );
}

function tabAfterKey(key: string, index: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return (index + 1) % count;
    case "ArrowLeft":
      return (index + count - 1) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
