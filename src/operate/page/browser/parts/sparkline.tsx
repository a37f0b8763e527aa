import { counted, number } from './format.ts';

const [width, height, gap] = [4, 18, 1];

/** How often something has happened in each hour of a day, the present one last. */
export function Sparkline({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const sum = counts.reduce((all, count) => all + count, 0);
  const text = `${counted(sum, 'failed attempt')} in the last day, ${number(counts.at(-1) ?? 0)} in the present hour`;
  return (
    <svg class="sparkline" role="img" aria-label={text} width={counts.length * (width + gap)} height={height}>
      <title>{text}</title>
      {counts.map((count, hour) => {
        const bar = count === 0 ? 1 : Math.max(2, (count / most) * height);
        return <rect key={hour} x={hour * (width + gap)} y={height - bar} width={width} height={bar} />;
      })}
    </svg>
  );
}
