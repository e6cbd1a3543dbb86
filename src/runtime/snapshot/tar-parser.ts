import { applyPaxRecords, type PaxRecords, parsePaxRecords, sparseFile } from "./pax-records.ts";
import {
  blockSize,
  invalidArchive,
  parseHeader,
  type RawHeader,
  shown,
  type TarEntry,
  type TarEntryType,
} from "./tar-header.ts";

/** Where the parser's findings go, in the archive's order. */
export interface TarSink {
  entry(entry: TarEntry): void;
  data(bytes: Buffer): void;
  /** After an entry's last byte. */
  endEntry(): void;
}

export interface TarParser {
  push(chunk: Buffer): void;
  /** No more will come: an archive that stops within an entry is cut. */
  finish(): void;
}

/** Extended headers are held in memory: what is longer than any name or attribute can be is hostile. */
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

/** Archives are read, and refused, as Go's reader does it: what other runtimes unpack, and nothing else, is unpacked. */
type State =
  | { kind: "header" }
  /** One empty block was there: a second one ends the archive. */
  | { kind: "ending" }
  | { kind: "extension"; typeFlag: string; parts: Buffer[]; remaining: number; padding: number }
  | { kind: "data"; remaining: number; padding: number }
  | { kind: "padding"; remaining: number }
  | { kind: "ended" };

/** Reads ustar, pax and GNU archives as they stream by; keeps at most one header in memory. */
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
    const told = applyPaxRecords(raw, pax);
    const header = { ...told, name: longName || told.name, linkName: longLink || told.linkName };
    const { xattrs } = pax;
    forgetExtensions();
    // A file with holes, as GNU tar keeps them: what follows is not the file's bytes alone.
    if (header.typeFlag === "S") throw sparseFile(header.name);
    const type = types[header.typeFlag];
    if (type === undefined) {
      const typeFlag = JSON.stringify(header.typeFlag);
      throw invalidArchive(`has an entry of type ${typeFlag} (${shown(header.name)}), which is not known`);
    }
    // Archives from before there were types mark a directory by a slash at the end of its name. Others would take what
    // follows for the file's bytes, and see no entries that are hidden there.
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
    // A global header may set anything for all entries behind it; images have no use for one. It is an entry of its own:
    // what stands before it is about nothing behind it.
    if (typeFlag === "g") forgetExtensions();
    else if (typeFlag === "x") pax = parsePaxRecords(data);
    else if (typeFlag === "L") longName = untilNul(data);
    else longLink = untilNul(data);
  }

  /** Takes what it can from `chunk` at `at` and answers with where the rest begins. */
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
      // Some writers leave out the two empty blocks at the end, umoci also what fills the last block.
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
