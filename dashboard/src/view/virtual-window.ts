export interface VirtualWindow {
  readonly first: number;
  /** Index after the last row. */
  readonly end: number;
}

/** Range of rows to render: the visible ones and a few on each side. */
export function virtualWindow(list: {
  readonly scrollTop: number;
  readonly viewHeight: number;
  readonly rowHeight: number;
  readonly count: number;
  readonly spare: number;
}): VirtualWindow {
  const { scrollTop, viewHeight, rowHeight, count, spare } = list;
  // The scroll position can be beyond the end of a list that became shorter.
  const top = Math.min(Math.max(0, scrollTop), Math.max(0, count * rowHeight - viewHeight));
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  return { first, end: Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + spare) };
}

/** Scroll position that makes a row visible; unchanged if it already is. */
export function scrollToRow(
  index: number,
  { scrollTop, viewHeight, rowHeight }: { readonly scrollTop: number; viewHeight: number; rowHeight: number },
): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - viewHeight);
}

/** Row selected by a key. Undefined for other keys. */
export function rowAfterKey(
  key: string,
  { index, count, page }: { readonly index: number; readonly count: number; readonly page: number },
): number | undefined {
  const to = {
    ArrowDown: index + 1,
    ArrowUp: index < 0 ? 0 : index - 1,
    PageDown: index + page,
    PageUp: index - page,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined || count === 0 ? undefined : Math.min(count - 1, Math.max(0, to));
}
