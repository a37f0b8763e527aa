const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Replaces XML's five entities, and character references, with their characters; other entities stay as they are. */
export function decodeEntities(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return named[name.toLowerCase()] ?? whole;
    const isHexadecimal = name[1] === 'x' || name[1] === 'X';
    const code = isHexadecimal ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}
