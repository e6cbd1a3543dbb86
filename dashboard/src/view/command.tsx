import { useEffect, useState } from "preact/hooks";

/** Command with a copy button. */
export function Command({ command }: { readonly command: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <div class="command">
      <code>{command}</code>
      <button
        type="button"
        aria-label={`Copy: ${command}`}
        onClick={() => void copy(command).then(setCopied)}
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Fallback for plain HTTP, where the Clipboard API is not available. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "offscreen";
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
