package oneloop

// Elements is for the test that compares it with encoding/json.
var Elements = elements
