import {
  applyPaxRecords,
  blockSize,
  invalidArchive,
  type PaxRecords,
  parseHeader,
  parsePaxRecords,
  type RawHeader,
  shown,
  sparseFile,
  type TarEntry,
  type TarEntryType,
} from "./tar-header.ts";

/** Receives the content of an archive in order. */
export interface TarSink {
  entry(entry: TarEntry): void;
  data(bytes: Buffer): void;
  /** Called after an entry's last byte. */
  endEntry(): void;
}

export interface TarParser {
  push(chunk: Buffer): void;
  /** Ends the input. An archive that ends within an entry is truncated. */
  finish(): void;
}

/** Limit of an extended header, which is kept in memory; longer than any name or attribute can be. */
const maxExtensionBytes = 1 << 20;

const types: Record<string, TarEntryType> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "3": "char",
  "4": "block",
  "5": "directory",
  "6": "fifo",
};

/**
 * State of the parser. It accepts and rejects archives as Go's reader does, so that it unpacks what other runtimes
 * unpack.
 */
type State =
  | { kind: "header" }
  /** One empty block was read; a second one ends the archive. */
  | { kind: "ending" }
  | { kind: "extension"; typeFlag: string; parts: Buffer[]; remaining: number; padding: number }
  | { kind: "data"; remaining: number; padding: number }
  | { kind: "padding"; remaining: number }
  | { kind: "ended" };

/** Parses ustar, pax and GNU archives as a stream, with at most one header in memory. */
export function createTarParser(sink: TarSink): TarParser {
  let state: State = { kind: "header" };
  let partial: Buffer | undefined;
  let longName = "";
  let longLink = "";
  let pax: PaxRecords = { values: new Map(), xattrs: new Map() };

  function takeHeader(block: Buffer): State {
    if (isZero(block)) return { kind: state.kind === "ending" ? "ended" : "ending" };
    if (state.kind === "ending") throw invalidArchive("goes on behind an empty block; it is damaged");
    const raw = parseHeader(block);
    const padding = (blockSize - (raw.size % blockSize)) % blockSize;
    if ("xgLK".includes(raw.typeFlag)) {
      if (raw.size > maxExtensionBytes) throw invalidArchive(`has an extended header of ${raw.size} bytes`);
      if (raw.size > 0)
        return { kind: "extension", typeFlag: raw.typeFlag, parts: [], remaining: raw.size, padding };
      takeExtension(raw.typeFlag, Buffer.alloc(0));
      return { kind: "header" };
    }
    return beginEntry(raw);
  }

  function beginEntry(raw: RawHeader): State {
    const described = applyPaxRecords(raw, pax);
    const header = {
      ...described,
      name: longName || described.name,
      linkName: longLink || described.linkName,
    };
    const { xattrs } = pax;
    forgetExtensions();
    // GNU tar's format for sparse files: more than the file's bytes follows.
    if (header.typeFlag === "S") throw sparseFile(header.name);
    const type = types[header.typeFlag];
    if (type === undefined) {
      const typeFlag = JSON.stringify(header.typeFlag);
      throw invalidArchive(`has an entry of type ${typeFlag} (${shown(header.name)}), which is not known`);
    }
    // Archives older than type flags mark a directory by a trailing slash. Treating it as a file would skip the entries
    // that follow as if they were the file's content.
    const isDirectory = header.typeFlag === "\0" && header.name.endsWith("/");
    const size = type === "file" && !isDirectory ? header.size : 0;
    sink.entry({ ...header, type: isDirectory ? "directory" : type, size, xattrs });
    if (size > 0)
      return { kind: "data", remaining: size, padding: (blockSize - (size % blockSize)) % blockSize };
    sink.endEntry();
    return { kind: "header" };
  }

  function forgetExtensions(): void {
    longName = "";
    longLink = "";
    pax = { values: new Map(), xattrs: new Map() };
  }

  function takeExtension(typeFlag: string, data: Buffer): void {
    // A global header sets values for all later entries; images do not need one. It is a separate entry, so the
    // extensions before it end there.
    if (typeFlag === "g") forgetExtensions();
    else if (typeFlag === "x") pax = parsePaxRecords(data);
    else if (typeFlag === "L") longName = untilNul(data);
    else longLink = untilNul(data);
  }

  /** Processes part of `chunk` from `at` and returns the position of the rest. */
  function step(chunk: Buffer, at: number): number {
    switch (state.kind) {
      case "ended":
        return chunk.length;
      case "header":
      case "ending": {
        const missing = blockSize - (partial?.length ?? 0);
        const part = chunk.subarray(at, at + missing);
        const block = partial ? Buffer.concat([partial, part]) : part;
        if (block.length < blockSize) {
          partial = Buffer.from(block);
        } else {
          partial = undefined;
          state = takeHeader(block);
        }
        return at + part.length;
      }
      case "extension": {
        const part = chunk.subarray(at, at + state.remaining);
        state.parts.push(Buffer.from(part));
        state.remaining -= part.length;
        if (state.remaining === 0) {
          takeExtension(state.typeFlag, Buffer.concat(state.parts));
          state = state.padding > 0 ? { kind: "padding", remaining: state.padding } : { kind: "header" };
        }
        return at + part.length;
      }
      case "data": {
        const part = chunk.subarray(at, at + state.remaining);
        sink.data(part);
        state.remaining -= part.length;
        if (state.remaining === 0) {
          sink.endEntry();
          state = state.padding > 0 ? { kind: "padding", remaining: state.padding } : { kind: "header" };
        }
        return at + part.length;
      }
      case "padding": {
        const taken = Math.min(state.remaining, chunk.length - at);
        state.remaining -= taken;
        if (state.remaining === 0) state = { kind: "header" };
        return at + taken;
      }
    }
  }

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length) at = step(chunk, at);
    },
    finish() {
      // Some writers omit the two empty blocks at the end; umoci also omits the padding of the last block.
      if (state.kind === "extension" || state.kind === "data" || partial) throw invalidArchive("is cut off");
    },
  };
}

function untilNul(data: Buffer): string {
  const end = data.indexOf(0);
  return data.toString("latin1", 0, end === -1 ? data.length : end);
}

function isZero(block: Buffer): boolean {
  for (const byte of block) if (byte !== 0) return false;
  return true;
}
