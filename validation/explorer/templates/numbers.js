// Reading and writing numbers: what may be typed is what fedco reads, a decimal or a fraction.
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,4}))?$/;
const FRACTION = /^([+-]?\d+)\/(\d+)$/;
const MOST_CHARACTERS = 60;
const MOST_EXPONENT = 100;

const read = (text) => {
  const plain = text.trim();
  if (plain.length > MOST_CHARACTERS) return NaN;
  const parts = FRACTION.exec(plain);
  if (parts) return Number(parts[1]) / Number(parts[2]);
  const found = DECIMAL.exec(plain);
  return found && Math.abs(Number(found[1] || 0)) <= MOST_EXPONENT ? Number(plain) : NaN;
};

// Why a text is no value of a symbol; empty where it is one.
const complaint = (symbol, text) => {
  const value = read(text);
  if (!Number.isFinite(value)) return `wanted ${symbol.a_number} as a decimal or a fraction such as 1/3`;
  const inside = symbol.zero ? value >= 0 : value > 0;
  const below = symbol.most === null || (symbol.open ? value < symbol.most : value <= symbol.most);
  return inside && below && (!symbol.whole || Number.isInteger(value)) ? "" : `wanted ${symbol.a_number}`;
};

const show = (value, digits = 4) => {
  if (value === Infinity) return "∞";
  if (!Number.isFinite(value)) return "undefined";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(exponent)}`;
};

// A text for a slider's value: three digits, whole where the symbol is.
const typed = (symbol, value) => {
  if (symbol.whole) return String(Math.max(symbol.zero ? 0 : 1, Number(Math.round(value).toPrecision(3))));
  return String(Number(value.toPrecision(3)));
};

const SLIDER_STEPS = 400;
const position = (symbol, value) => {
  if (symbol.steps) return Math.round((value / symbol.high) * SLIDER_STEPS);
  if (!(value > 0)) return 0;
  const share = Math.log(value / symbol.low) / Math.log(symbol.high / symbol.low);
  return Math.min(SLIDER_STEPS, Math.max(symbol.zero ? 1 : 0, Math.round(share * SLIDER_STEPS)));
};
const atPosition = (symbol, at) => {
  if (symbol.steps) return String(Math.round((at / SLIDER_STEPS) * symbol.high));
  if (symbol.zero && at === 0) return "0";
  return typed(symbol, symbol.low * (symbol.high / symbol.low) ** (at / SLIDER_STEPS));
};
