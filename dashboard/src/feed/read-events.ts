/**
 * Takes a stream of server-sent events apart: give it text as it comes, it answers with the data of each event that
 * is complete. Fields other than `data` and comments carry nothing for the page.
 */
export function createEventReader(): (text: string) => readonly string[] {
  // A snapshot of many megabytes comes in many pieces: they are joined once, at the end of their line.
  let pieces: string[] = [];
  let data: string[] = [];
  const endLine = (line: string): string | undefined => {
    if (line === "") {
      const event = data.length > 0 ? data.join("\n") : undefined;
      data = [];
      return event;
    }
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    return undefined;
  };
  return (text) => {
    const events: string[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = [...pieces, text.slice(start, end)].join("");
      pieces = [];
      const event = endLine(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== undefined) events.push(event);
      start = end + 1;
    }
    if (start < text.length) pieces.push(text.slice(start));
    return events;
  };
}
