"""A SAML identity provider for tests that authenticates one user."""

from __future__ import annotations

import base64
import datetime
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import lxml.etree
import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from msgspec import Struct, field
from onelogin.saml2.utils import OneLogin_Saml2_Utils

ASSERTION, PROTOCOL, SIGNATURE = (
    "urn:oasis:names:tc:SAML:2.0:assertion",
    "urn:oasis:names:tc:SAML:2.0:protocol",
    "http://www.w3.org/2000/09/xmldsig#",
)
SSO = "https://idp.example.org/sso"
UID = "urn:oid:0.9.2342.19200300.100.1.1"
SUBJECT = "urn:oasis:names:tc:SAML:attribute:subject-id"
RSA_SHA1 = f"{SIGNATURE}rsa-sha1"
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"


@cache
def create_key_pair(owner: str) -> tuple[str, str]:
    """Create a private key and its certificate, in PEM format."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, owner)])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    certificate = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private.decode(), certificate.public_bytes(Encoding.PEM).decode()


def format_moment(seconds: float) -> str:
    """Return the time this many seconds from now in SAML's format."""
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class Answer(Struct, frozen=True):
    """The content of a response."""

    attributes: Mapping[str, str | list[str]]
    request: str
    """The ID of the request; empty for an unsolicited response."""
    service: str
    """The entity ID of the service that receives it."""
    destination: str
    recipient: str
    issuer: str
    status: str = "urn:oasis:names:tc:SAML:2.0:status:Success"
    begin: float = -60
    end: float = 60
    """Validity in seconds from now."""
    signed: tuple[str, ...] = ("Response",)
    """Names of signed elements."""
    signer: str = "idp"
    algorithm: str = RSA_SHA256
    encrypt_for: str = ""
    """Owner of the key that the assertion is encrypted for."""
    ids: tuple[str, str] = field(default_factory=lambda: ("_response", "_assertion"))

    def to_xml(self) -> str:
        """Return the signed and encrypted XML document."""
        in_response = f'InResponseTo="{self.request}"' if self.request else ""
        attributes = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in _list(values))
            + "</saml:Attribute>"
            for name, values in self.attributes.items()
        )
        begin, end, now = (format_moment(seconds) for seconds in (self.begin, self.end, 0))
        assertion = f"""<saml:Assertion xmlns:saml="{ASSERTION}" ID="{self.ids[1]}" Version="2.0"
            IssueInstant="{now}"><saml:Issuer>{self.issuer}</saml:Issuer><saml:Subject>
            <saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">_x</saml:NameID>
            <saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
            <saml:SubjectConfirmationData NotOnOrAfter="{end}" Recipient="{self.recipient}" {in_response}/>
            </saml:SubjectConfirmation></saml:Subject>
            <saml:Conditions NotBefore="{begin}" NotOnOrAfter="{end}"><saml:AudienceRestriction>
            <saml:Audience>{self.service}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
            <saml:AuthnStatement AuthnInstant="{now}"><saml:AuthnContext>
            <saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>
            </saml:AuthnContext></saml:AuthnStatement>
            <saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"""
        if "Assertion" in self.signed:
            assertion = self._sign(assertion)
        if self.encrypt_for:
            assertion = _encrypt(assertion, create_key_pair(self.encrypt_for)[1])
        response = f"""<samlp:Response xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" ID="{self.ids[0]}"
            Version="2.0" IssueInstant="{now}" Destination="{self.destination}" {in_response}>
            <saml:Issuer>{self.issuer}</saml:Issuer>
            <samlp:Status><samlp:StatusCode Value="{self.status}"/></samlp:Status>{assertion}
            </samlp:Response>"""
        return self._sign(response) if "Response" in self.signed else response

    def _sign(self, xml: str) -> str:
        key, certificate = create_key_pair(self.signer)
        signed = OneLogin_Saml2_Utils.add_sign(xml, key, certificate, sign_algorithm=self.algorithm)
        return str(signed.decode())


def _list(values: str | list[str]) -> list[str]:
    return [values] if isinstance(values, str) else values


def _encrypt(assertion: str, certificate: str) -> str:
    element = lxml.etree.fromstring(assertion)
    data = xmlsec.template.encrypted_data_create(
        element, xmlsec.Transform.AES128, type=xmlsec.EncryptionType.ELEMENT, ns="xenc"
    )
    xmlsec.template.encrypted_data_ensure_cipher_value(data)
    info = xmlsec.template.encrypted_data_ensure_key_info(data, ns="ds")
    xmlsec.template.encrypted_data_ensure_cipher_value(
        xmlsec.template.add_encrypted_key(info, xmlsec.Transform.RSA_OAEP)
    )
    manager = xmlsec.KeysManager()
    manager.add_key(xmlsec.Key.from_memory(certificate, xmlsec.KeyFormat.CERT_PEM, None))
    context = xmlsec.EncryptionContext(manager)
    context.key = xmlsec.Key.generate(xmlsec.KeyData.AES, 128, xmlsec.KeyDataType.SESSION)
    encrypted = lxml.etree.tostring(context.encrypt_xml(data, element)).decode()
    return f'<saml:EncryptedAssertion xmlns:saml="{ASSERTION}">{encrypted}</saml:EncryptedAssertion>'


class SamlPlatform:
    """An identity provider that authenticates a user with these attributes."""

    def __init__(self, entity: str, **attributes: str) -> None:
        self.entity = entity
        self.attributes: dict[str, str | list[str]] = dict(attributes)

    def build_metadata(self, *_: Any, **__: Any) -> bytes:
        """Return the metadata of the provider."""
        certificate = "".join(create_key_pair("idp")[1].splitlines()[1:-1])
        return f"""<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"
            entityID="{self.entity}"><md:IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}">
            <md:KeyDescriptor><ds:KeyInfo xmlns:ds="{SIGNATURE}"><ds:X509Data>
            <ds:X509Certificate>{certificate}
            </ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
            <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
            Location="{SSO}"/></md:IDPSSODescriptor></md:EntityDescriptor>""".encode()

    def answer(self, address: str) -> Answer:
        """Return the response to the request in an address."""
        query = parse_qs(urlsplit(address).query)
        request = lxml.etree.fromstring(zlib.decompress(base64.b64decode(query["SAMLRequest"][0]), -15))
        consumer = request.get("AssertionConsumerServiceURL")
        return Answer(
            attributes=self.attributes,
            request=request.get("ID"),
            service=str(request.findtext(f"{{{ASSERTION}}}Issuer")),
            destination=consumer,
            recipient=consumer,
            issuer=self.entity,
        )
