import { applyPaxRecords, type PaxRecords, parsePaxRecords, sparseFile } from "./pax-records.ts";
import {
  blockSize,
  invalidArchive,
  parseHeader,
  type RawHeader,
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

type State =
  | { kind: "header" }
  | { kind: "extension"; typeFlag: string; parts: Buffer[]; remaining: number; padding: number }
  | { kind: "data"; remaining: number; padding: number }
  | { kind: "padding"; remaining: number }
  | { kind: "ended" };

/** Reads ustar, pax and GNU archives as they stream by; keeps at most one header in memory. */
export function createTarParser(sink: TarSink): TarParser {
  let state: State = { kind: "header" };
  let partial: Buffer | undefined;
  let longName: string | undefined;
  let longLink: string | undefined;
  let pax: PaxRecords = { values: new Map(), xattrs: new Map() };

  function takeHeader(block: Buffer): State {
    if (isZero(block)) return { kind: "ended" };
    const raw = parseHeader(block);
    const padding = (blockSize - (raw.size % blockSize)) % blockSize;
    if ("xgLK".includes(raw.typeFlag)) {
      if (raw.size > maxExtensionBytes) throw invalidArchive(`has an extended header of ${raw.size} bytes`);
      if (raw.size === 0) return { kind: "header" };
      return { kind: "extension", typeFlag: raw.typeFlag, parts: [], remaining: raw.size, padding };
    }
    return beginEntry(raw);
  }

  function beginEntry(raw: RawHeader): State {
    const header = applyPaxRecords(
      { ...raw, name: longName ?? raw.name, linkName: longLink ?? raw.linkName },
      pax,
    );
    const { xattrs } = pax;
    longName = undefined;
    longLink = undefined;
    pax = { values: new Map(), xattrs: new Map() };
    // A file with holes, as GNU tar keeps them: what follows is not the file's bytes alone.
    if (header.typeFlag === "S") throw sparseFile(header.name);
    const type = types[header.typeFlag];
    if (type === undefined) {
      const shown = JSON.stringify(header.typeFlag);
      throw invalidArchive(
        `has an entry of type ${shown} (${JSON.stringify(header.name)}), which is not known`,
      );
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

  function takeExtension(typeFlag: string, data: Buffer): void {
    // A global header may set anything for all entries behind it; images have no use for one.
    if (typeFlag === "g") return;
    if (typeFlag === "x") {
      pax = parsePaxRecords(data);
      return;
    }
    const end = data.indexOf(0);
    const name = data.toString("latin1", 0, end === -1 ? data.length : end);
    if (typeFlag === "L") longName = name;
    else longLink = name;
  }

  /** Takes what it can from `chunk` at `at` and answers with where the rest begins. */
  function step(chunk: Buffer, at: number): number {
    switch (state.kind) {
      case "ended":
        return chunk.length;
      case "header": {
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
      const between =
        state.kind === "ended" ||
        state.kind === "padding" ||
        (state.kind === "header" && !partial && !longName && !longLink);
      if (!between || pax.values.size > 0) throw invalidArchive("is cut off");
    },
  };
}

function isZero(block: Buffer): boolean {
  for (const byte of block) if (byte !== 0) return false;
  return true;
}
