/** Maximum line length of a CRI log entry; longer lines are split into parts tagged P and a last one tagged F. */
export const maxLineBytes = 16 * 1024;

const newline = 10;

export interface CriLogLines {
  /** Returns the bytes to append to the log. Times are in RFC 3339 format and UTC. */
  push(chunk: Buffer, time: string): Buffer;
  /** Returns the unfinished line at the end of the stream. */
  end(time: string): Buffer;
}

/** Converts output into CRI log lines: `<time> <stream> <P|F> <content>\n`. Content is unchanged. */
export function createCriLogLines(stream: "stdout" | "stderr"): CriLogLines {
  let pending: Buffer = Buffer.alloc(0);

  function line(time: string, tag: "P" | "F", content: Buffer): Buffer[] {
    return [Buffer.from(`${time} ${stream} ${tag} `), content, Buffer.of(newline)];
  }

  return {
    push(chunk, time) {
      const parts: Buffer[] = [];
      let rest: Buffer = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk;
      for (;;) {
        const end = rest.subarray(0, maxLineBytes + 1).indexOf(newline);
        if (end >= 0) {
          parts.push(...line(time, "F", rest.subarray(0, end)));
          rest = rest.subarray(end + 1);
        } else if (rest.length > maxLineBytes) {
          parts.push(...line(time, "P", rest.subarray(0, maxLineBytes)));
          rest = rest.subarray(maxLineBytes);
        } else break;
      }
      // Copied, because the caller may reuse its buffer.
      pending = Buffer.from(rest);
      return Buffer.concat(parts);
    },
    end(time) {
      const rest = pending;
      pending = Buffer.alloc(0);
      return rest.length > 0 ? Buffer.concat(line(time, "F", rest)) : rest;
    },
  };
}
