/** Row of buttons of which one is selected. */
export function Choice<Id extends string>(props: {
  readonly label: string;
  readonly options: readonly {
    readonly id: Id;
    readonly label: string;
    readonly count?: number;
    readonly tone?: string;
  }[];
  readonly selected: Id;
  readonly onSelect: (id: Id) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="offscreen">{props.label}</legend>
      {props.options.map(({ id, label, count, tone }) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === props.selected}
          onClick={() => props.onSelect(id)}
        >
          {tone && <span class={`dot tone-${tone}`} aria-hidden="true" />}
          {label}
          {count !== undefined && <span class="count"> {count.toLocaleString("en")}</span>}
        </button>
      ))}
    </fieldset>
  );
}
