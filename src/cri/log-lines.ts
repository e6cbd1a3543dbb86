/** The longest line CRI's log format carries in one piece; longer ones come as parts tagged P, the last one F. */
export const maxLineBytes = 16 * 1024;

const newline = 10;

export interface CriLogLines {
  /** What to append to the log for these bytes. Times are the kubelet's: RFC 3339 in UTC. */
  push(chunk: Buffer, time: string): Buffer;
  /** The stream has ended: what has come of an unfinished line. */
  end(time: string): Buffer;
}

/** Turns a stream's bytes into lines of CRI's log: `<time> <stream> <P|F> <content>\n`. Bytes pass unchanged. */
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
      // A copy: the caller's buffer may be used again.
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
