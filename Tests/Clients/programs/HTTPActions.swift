import HTTPActions

let allowed = AddressRange("10.0.0.0/8")
print(allowed?.text ?? "none", HTTPActionConfiguration(source: "hooks").source)
