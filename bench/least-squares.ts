// The line of least squares through measured points, and how much of their variance it explains. Pure.

export interface Line {
  readonly slope: number;
  readonly intercept: number;
  /** 1: all points are on the line; 0: the mean fits as well. */
  readonly rSquared: number;
}

/** @param points - at least two, with different x; otherwise all is `NaN` */
export function leastSquares(points: readonly (readonly [x: number, y: number])[]): Line {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point[0]), mean((point) => point[1])];
  const xx = mean((point) => (point[0] - x) ** 2);
  const xy = mean((point) => (point[0] - x) * (point[1] - y));
  const yy = mean((point) => (point[1] - y) ** 2);
  const slope = xx > 0 ? xy / xx : Number.NaN;
  return { slope, intercept: y - slope * x, rSquared: yy > 0 ? xy ** 2 / xx / yy : Number.NaN };
}
