/** Draws a simplified Grafana dashboard as SVG for the documentation, because no registry has Grafana. */
import {escapeXml, formatValue} from './format.ts';

/** As Grafana stores them. https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/ */
export interface Panel {
  readonly type: string;
  readonly title: string;
  /** Position in a grid with 24 columns and rows of 30 pixels. */
  readonly gridPos: {readonly x: number; readonly y: number; readonly w: number; readonly h: number};
  readonly fieldConfig?: {readonly defaults?: {readonly unit?: string}};
  readonly targets?: readonly {readonly expr: string; readonly legendFormat?: string}[];
}

export interface Line {
  readonly legend: string;
  /** Seconds since the start, and the value. */
  readonly points: readonly (readonly [number, number])[];
}

export interface DrawnPanel {
  readonly panel: Panel;
  readonly lines: readonly Line[];
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const WIDTH = 1200;
const ROW = 30;
const GAP = 8;
const LEGEND_ROW = 14;
const MOST_LEGENDS = 5;
const COLORS = ['#3274d9', '#e0752d', '#56a64b', '#c4162a', '#8f3bb8', '#e0b400', '#1f9e9e', '#7f7f7f'];

/** `seconds`: the length of the series. */
export function drawDashboard(title: string, panels: readonly DrawnPanel[], seconds: number): string {
  const height = Math.max(...panels.map(({panel: {gridPos}}) => gridPos.y + gridPos.h)) * ROW + 50;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11" fill="#222">`,
    `<title>The dashboard ${escapeXml(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#f4f5f5"/>`,
    text(12, 26, title, 'font-size="17" font-weight="bold"'),
    ...panels.map(drawn => drawPanel(drawn, seconds)),
    '</svg>\n',
  ].join('\n');
}

function drawPanel({panel, lines}: DrawnPanel, seconds: number): string {
  const {x, y, w, h} = panel.gridPos;
  const column = (WIDTH - 2 * GAP) / 24;
  const box = {x: GAP + x * column, y: 40 + y * ROW, width: w * column - GAP, height: h * ROW - GAP};
  if (panel.type === 'row') return text(box.x + 4, box.y + 16, panel.title, 'font-size="14" font-weight="bold"');
  const unit = panel.fieldConfig?.defaults?.unit ?? 'short';
  const inside = {x: box.x + 10, y: box.y + 26, width: box.width - 20, height: box.height - 34};
  return [
    `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="3" fill="#fff" stroke="#ddd"/>`,
    text(box.x + 10, box.y + 17, clipped(panel.title, box.width - 20), 'font-weight="bold"'),
    ...contents(panel.type, inside, lines, unit, seconds),
  ].join('\n');
}

function contents(type: string, box: Box, lines: readonly Line[], unit: string, seconds: number): readonly string[] {
  const last = ({points}: Line) => points.at(-1)?.[1] ?? Number.NaN;
  if (type === 'stat') {
    const value = formatValue(lines[0] ? last(lines[0]) : Number.NaN, unit);
    const middle = `font-size="38" text-anchor="middle" fill="${COLORS[2]}"`;
    return [text(box.x + box.width / 2, box.y + box.height / 2 + 12, value, middle)];
  }
  if (type === 'table') {
    const rows = lines.slice(0, Math.floor(box.height / 18));
    return rows.flatMap((line, row) => [
      text(box.x, box.y + 14 + row * 18, clipped(line.legend, box.width - 60)),
      text(box.x + box.width, box.y + 14 + row * 18, formatValue(last(line), unit), 'text-anchor="end"'),
    ]);
  }
  return graph(box, lines, unit, seconds);
}

function graph(box: Box, lines: readonly Line[], unit: string, seconds: number): readonly string[] {
  const legends = lines.slice(0, MOST_LEGENDS);
  const plot = {x: box.x + 52, y: box.y, width: box.width - 56, height: box.height - 16 - LEGEND_ROW * legends.length};
  const most = Math.max(0, ...lines.flatMap(({points}) => points.map(([, value]) => value))) || 1;
  const left = (second: number) => plot.x + (plot.width * second) / seconds;
  const top = (value: number) => plot.y + plot.height * (1 - value / most);
  const place = ([second, value]: readonly [number, number]) => `${left(second).toFixed(1)},${top(value).toFixed(1)}`;
  const grid = [0, 0.5, 1].flatMap(part => [
    `<path d="M${plot.x} ${top(most * part)}H${plot.x + plot.width}" stroke="#e5e5e5"/>`,
    text(plot.x - 4, top(most * part) + 4, formatValue(most * part, unit), 'text-anchor="end" fill="#666"'),
  ]);
  const color = (index: number) => COLORS[index % COLORS.length];
  return [
    ...grid,
    text(plot.x, plot.y + plot.height + 13, '0 s', 'fill="#666"'),
    text(plot.x + plot.width, plot.y + plot.height + 13, `${seconds} s`, 'text-anchor="end" fill="#666"'),
    ...lines.map(
      ({points}, index) =>
        `<polyline points="${points.map(place).join(' ')}" fill="none" stroke="${color(index)}" stroke-width="1.5"/>`,
    ),
    ...legends.flatMap(({legend}, index) => {
      const y = plot.y + plot.height + 16 + LEGEND_ROW * (index + 1);
      const more =
        index === MOST_LEGENDS - 1 && lines.length > MOST_LEGENDS ? ` and ${lines.length - MOST_LEGENDS} more` : '';
      return [
        `<path d="M${box.x} ${y - 4}h14" stroke="${color(index)}" stroke-width="3"/>`,
        text(box.x + 20, y, clipped(legend, box.width - 90) + more),
      ];
    }),
  ];
}

/** Clips to about as many characters as fit. */
function clipped(words: string, width: number): string {
  const most = Math.floor(width / 6.5);
  return words.length > most ? `${words.slice(0, most - 1)}…` : words;
}

function text(x: number, y: number, words: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escapeXml(words)}</text>`;
}
